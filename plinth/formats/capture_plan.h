// Reads and writes plans of what to capture: which values, in full or as statistics, and what to put in
// place.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "plinth/base/status.h"

namespace plinth::formats {

// docs/captures.md describes the file; the hooks for PyTorch read it too.
struct CapturePlan {
  struct Record {
    std::string name;   // module path, or a pattern, see MatchesStars
    bool full = false;  // else statistics alone
    bool inputs = false, outputs = true;
    bool operators = false;  // also the operators inside it
  };
  struct Replacement {
    std::string name;     // the module whose output is replaced
    std::string capture;  // the capture that holds the tensor to put there
  };
  std::vector<Record> records;
  std::vector<Replacement> replacements;
  std::string forced_by;  // the capture whose tensors take the place of each recorded output; empty: none
};

// `where` begins every message. Errors: InvalidArgument, with the line.
StatusOr<CapturePlan> ParseCapturePlan(std::string_view text, std::string where);
// The same from a file, beside which relative paths of captures begin. Errors: FileError; as above.
StatusOr<CapturePlan> LoadCapturePlan(const std::string& path);
// The text of a plan file. `comment`: lines for people at its beginning, without "#".
std::string ToToml(const CapturePlan& plan, std::string_view comment = "");

// Whether the pattern (see MatchesStars) is `path` or a module that holds it ("a.*" and "a" hold "a.b.c").
bool MatchesModuleOf(std::string_view pattern, std::string_view path);

}  // namespace plinth::formats
