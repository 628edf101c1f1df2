// Compares two files or captures tensor by tensor: `plinth compare`.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "plinth/base/context.h"
#include "plinth/verify/compare_rules.h"
#include "plinth/verify/comparison_line.h"
#include "plinth/verify/diagnosis.h"
#include "plinth/verify/fingerprint.h"
#include "plinth/verify/rows.h"

namespace plinth::verify {

struct CompareOptions {
  std::string reference, candidate;  // see TensorSource::Open
  std::string truth;                 // the same in double; empty: none
  std::string map;                   // see TensorMap::Load; empty: none
  std::string class_name;            // see LineFor
  int64_t k = 4096;                  // length of reductions, for the classes that need it
  std::string only;                  // regular expression of the reference's whole names; empty: all
  bool allow_extra = false;          // tensors that only the candidate has are fine
  bool allow_different = false;      // captures of different inputs or models are compared all the same
  bool digest = false;  // SHA-256 of both sides in the same pass, checked where the capture has one
  std::optional<uint64_t> canary;
  // Judges by the acceptance's rules instead of the line. The truth is `truth`; without one it is `reference`
  // where an incumbent is given. The incumbent is the one given, else `reference`, unless that is the truth.
  std::optional<RuleOptions> rules;
  std::function<bool()> interrupted;
};

// One tensor of both sides.
struct CompareRow {
  std::string tensor;  // the reference's name; of captures with direction, port and step
  CheckStatus status = CheckStatus::kFailed;
  std::string candidate_name;  // where the map changed it
  int64_t index = 0, rank = 0, repeat = 0;
  bool ranks = false;  // more than one rank or repeat is compared
  std::string op, dtype, candidate_dtype;
  std::vector<int64_t> dims, candidate_dims;
  int64_t bytes = 0;  // of both
  bool compared = false;
  Difference difference;             // where compared
  double limit = -1;                 // of relative L2; negative: another line holds
  std::vector<std::string> reasons;  // why it failed or warns
  std::vector<Finding> findings;
  ArithmeticLevel level = ArithmeticLevel::kExact;         // of the difference
  std::optional<double> reference_error, candidate_error;  // relative L2 against the truth
  std::optional<ValueGrid> reference_grid, candidate_grid;
  std::optional<RowVerdict> judged;  // by the rules, where they are asked for
};

struct CompareSummary {
  int64_t tensors = 0, compared = 0, passed = 0, warned = 0, failed = 0, missing = 0, extra = 0, unproven = 0;
  int64_t with_nan =
      0;  // tensors with NaN in the same places on both sides, about which no limit says anything
  std::string first_with_nan;
  int64_t bytes = 0;
  double seconds = 0;
  std::string first_failed;  // in the order of execution; empty: none
  int64_t worst_rank = -1;   // the rank with the most failures, where there are several; -1: none failed
  bool extra_allowed = false;
  std::optional<RuleSummary> rules;

  // "pass", "warn" or "fail"; nothing compared is a failure, and so is a requirement that failed.
  std::string_view verdict() const;
  int64_t all_failed() const { return failed + missing + (extra_allowed ? 0 : extra); }
};

// Gives every row to `sink` in the reference's order of execution, rank by rank. Errors: those of the files;
// InvalidArgument for captures of different models or inputs, a map that does not fit, a class or expression
// that is none; DataLoss where a recorded digest is wrong; Cancelled.
StatusOr<CompareSummary> CompareFiles(const Context& context, const CompareOptions& options,
                                      const std::function<void(const CompareRow&)>& sink);

// One JSON object without a line end; numbers that are not finite become null.
std::string ToJson(const CompareRow& row);
std::string ToJson(const CompareSummary& summary);
// For people: a line with the reasons and findings below it.
std::string ToText(const CompareRow& row);
std::string ToText(const CompareSummary& summary);

}  // namespace plinth::verify
