#include "plinth/report/check_result.h"

#include <array>

namespace plinth {

std::string_view CheckStatusName(CheckStatus status) {
  constexpr std::array<std::string_view, 9> kNames = {
      "passed", "warned", "failed", "unimplemented", "refused", "mistrusted", "unproven", "missing", "extra"};
  return kNames[static_cast<size_t>(status)];
}

CheckOutcome OutcomeOf(CheckStatus status) {
  switch (status) {
    case CheckStatus::kPassed:
      return CheckOutcome::kPassed;
    case CheckStatus::kWarned:
      return CheckOutcome::kWarned;
    case CheckStatus::kFailed:
    case CheckStatus::kUnimplemented:
    case CheckStatus::kMistrusted:
    case CheckStatus::kMissing:
      return CheckOutcome::kFailed;
    case CheckStatus::kRefused:
    case CheckStatus::kUnproven:
    case CheckStatus::kExtra:
      return CheckOutcome::kSkipped;
  }
  return CheckOutcome::kFailed;
}

}  // namespace plinth
