// Holds the result of one check, as reports for continuous integration list it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "plinth/base/check_status.h"

namespace plinth {

// How tools with fewer words take a status: unimplemented and missing count as failed, and so does what was
// mistrusted (its limits were never checked); refused as documented, unproven and extra are skipped: nothing
// was compared.
enum class CheckOutcome : uint8_t { kPassed, kWarned, kFailed, kSkipped };
CheckOutcome OutcomeOf(CheckStatus status);

// Texts are taken as hostile and escaped.
struct CheckResult {
  std::string suite;  // "operators", "layers", ...
  std::string name;   // unique in its suite
  CheckStatus status = CheckStatus::kPassed;
  std::string message;    // why it is not passed; one line or more
  std::string reproduce;  // the command that does it again; may be empty
  double seconds = 0;
};

// What stands once in such a report.
struct CheckRun {
  std::string name;      // "plinth accept plinth-ts-0"
  std::string version;   // of Plinth
  std::string run_id;    // 32 hex digits, random, the same for all reports of one run; may be empty
  std::string subject;   // what was checked, by digest; may be empty
  int64_t start_ms = 0;  // milliseconds since 1970
  int64_t stop_ms = 0;
  std::vector<CheckResult> results;
};

}  // namespace plinth
