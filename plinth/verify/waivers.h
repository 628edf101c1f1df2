// Reads waivers: records by which a person takes a warning upon himself until a date. They never turn it into
// a pass.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "plinth/base/status.h"
#include "plinth/verify/rules.h"

namespace plinth::verify {

struct Waiver {
  std::string tensor;  // a name, or a pattern with * and ?
  int rule = 0;        // 3 or 4
  std::string owner, reason;
  std::string expires;      // the last day that it counts, "2027-03-31"
  int64_t expires_day = 0;  // days since 1970-01-01
};

struct Waivers {
  std::vector<Waiver> records;
  std::string sha256;              // of the file
  std::vector<std::string> notes;  // one sentence per record that does not count: it has expired
};

// TOML: [[waiver]] with exactly tensor, rule, owner, reason and expires (a date). `today` in days since
// 1970-01-01 (UTC). Expired records are left out with a note. Errors: InvalidArgument with file and line for
// bad syntax, unknown or missing keys, a blank owner or reason, a rule that cannot be waived (1 and 2: what
// they find is a failure), a date that is none or lies more than a year ahead.
StatusOr<Waivers> ParseWaivers(std::string_view text, std::string where, int64_t today);
// Errors: FileError; as ParseWaivers.
StatusOr<Waivers> LoadWaivers(const std::string& path, int64_t today);

// Marks a warning whose broken rules are all waived for this tensor: `verdict->waiver` then says by whom,
// until when and why. It stays a warning; passes and failures stay as they are. Returns whether it was
// marked.
bool ApplyWaivers(const Waivers& waivers, std::string_view tensor, TensorVerdict* verdict);

// Days since 1970-01-01 of a wall clock in nanoseconds.
int64_t DayOf(int64_t wall_nanoseconds);

}  // namespace plinth::verify
