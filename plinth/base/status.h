// Gives every fallible function one result type and the two macros that pass errors on.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "plinth/base/text.h"

namespace plinth {

using absl::Status;
using absl::StatusOr;

// What a status means at the edge of the program; exit codes are listed in docs/commands.md.
//   InvalidArgument, NotFound, OutOfRange, DataLoss  bad usage or bad input (exit 2)
//   FailedPrecondition                               refused for lack of evidence (exit 4)
//   ResourceExhausted, Unavailable, PermissionDenied, Unimplemented
//                                                    the environment cannot do it (exit 3)
//   Cancelled                                        interrupted (exit 130)
//   Internal                                         our own fault (exit 3, asks for a report)
int ExitCode(const Status& status);

// Puts "where" before the message and keeps the code.
Status Prepend(const Status& status, std::string_view where);

}  // namespace plinth

#define PLINTH_CONCAT_INNER(a, b) a##b
#define PLINTH_CONCAT(a, b) PLINTH_CONCAT_INNER(a, b)

#define PLINTH_RETURN_IF_ERROR(expr)                                  \
  do {                                                                \
    if (::absl::Status plinth_status = (expr); !plinth_status.ok()) { \
      return plinth_status;                                           \
    }                                                                 \
  } while (false)

#define PLINTH_ASSIGN_OR_RETURN(lhs, expr) \
  PLINTH_ASSIGN_OR_RETURN_IMPL(PLINTH_CONCAT(plinth_or_, __LINE__), lhs, expr)
#define PLINTH_ASSIGN_OR_RETURN_IMPL(tmp, lhs, expr) \
  auto tmp = (expr);                                 \
  if (!tmp.ok()) return std::move(tmp).status();     \
  lhs = std::move(tmp).value()
