// Matches text against regular expressions in time linear in the text, whoever wrote them.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "plinth/base/status.h"

namespace plinth::verify::metrics {

// RE2's syntax, UTF-8.
class Pattern {
 public:
  // Error: InvalidArgument with what RE2 says.
  static StatusOr<Pattern> Compile(std::string_view pattern);

  // Whether all of `text` matches.
  bool MatchesAll(std::string_view text) const;
  // The first group of every match, from left to right, without overlap; empty where there is no group.
  std::vector<std::string> FirstGroups(std::string_view text) const;
  bool has_group() const;

 private:
  struct Program;
  std::shared_ptr<const Program> program_;
};

}  // namespace plinth::verify::metrics
