#include "plinth/report/check_result.h"

namespace plinth {

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
