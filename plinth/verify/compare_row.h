// Measures and judges one pair of tensors: a row of `plinth compare`.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plinth/verify/compare_files.h"
#include "plinth/verify/compare_pairs.h"
#include "plinth/verify/dense_tensor.h"

namespace plinth::verify {

class RowComparer {
 public:
  // All are borrowed; `rules` may be null: the line alone judges.
  RowComparer(const Context& context, const CompareOptions& options, const CompareSides& sides,
              const RuleJudge* rules)
      : context_(context), options_(options), sides_(sides), rules_(rules) {}

  // May be called from several threads; `threads` (may be null) share the work on this one pair. Errors:
  // InvalidArgument for a layout that does not fit or an unknown class; DataLoss for a wrong digest.
  StatusOr<CompareRow> Compare(const Pair& pair, Threads* threads) const;
  // The row of a rank that was announced and not recorded.
  CompareRow OfMissingRank(const MissingRank& missing) const;

 private:
  void Describe(const Pair& pair, CompareRow* row) const;
  Status Measure(const Pair& pair, Threads* threads, CompareRow* row) const;
  Status JudgeLine(const Pair& pair, const StridedRef& a, const StridedRef& b, CompareRow* row) const;
  Status AgainstTruth(const Pair& pair, const StridedRef& a, const StridedRef& b, Threads* threads,
                      CompareRow* row) const;

  // By the rules; compare_row_rules.cc.
  void JudgeBroken(std::string_view kind, CompareRow* row) const;
  void Mistrust(CompareRow* row) const;
  Status Beside(const Pair& pair, const SourceTensor* t, const StridedRef& b, DenseTensor* copy,
                std::optional<formats::ConstTensorRef>* out) const;
  std::string RanksDiffer(const Pair& pair, std::string_view op) const;
  Status JudgeByRules(const Pair& pair, const StridedRef& a, const StridedRef& b, Threads* threads,
                      CompareRow* row) const;
  Status TakeVerdict(const Pair& pair, const StridedRef& a, const StridedRef& b, CompareRow* row) const;

  const Context& context_;
  const CompareOptions& options_;
  const CompareSides& sides_;
  const RuleJudge* rules_;
};

// Makes `a` the part that the candidate's rank holds. False, with the reason in `row`, where it reaches
// beyond.
bool TakeShare(const Pair& pair, const StridedRef& b, StridedRef* a, CompareRow* row);

// Findings and grids of a row that failed. Errors: as DenseTensor::Take.
Status Explain(const Pair& pair, const StridedRef& a, const StridedRef& b, double limit, CompareRow* row);

// Where a side has statistics alone: these can show that something is wrong, not that it is right.
void CompareStatistics(const Pair& pair, CompareRow* row);

}  // namespace plinth::verify
