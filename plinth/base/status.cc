#include "plinth/base/status.h"

namespace plinth {

int ExitCode(const Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return 0;
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kOutOfRange:
    case absl::StatusCode::kDataLoss:
    case absl::StatusCode::kAlreadyExists:
      return 2;
    case absl::StatusCode::kFailedPrecondition:
      return 4;
    case absl::StatusCode::kCancelled:
      return 130;
    default:
      return 3;
  }
}

Status Prepend(const Status& status, std::string_view where) {
  if (status.ok()) return status;
  return Status(status.code(), StrCat(where, ": ", status.message()));
}

}  // namespace plinth
