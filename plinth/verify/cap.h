// Holds every element of a result against its own limit around the truth: the hard cap of the rule set.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "plinth/base/status.h"
#include "plinth/formats/safetensors.h"
#include "plinth/verify/rule_set.h"

namespace plinth::verify {

// S of an element: the magnitude that its rounding errors are proportional to. For a matrix product the norm
// of its row of the one input times the norm of its column of the other (Cauchy and Schwarz: at least the sum
// of |a b|); for a sum, the sum of |x|; for a softmax, the result itself; for a function, the largest
// magnitude on the way. At most one is given; none: estimated from the truth's own rows and columns.
struct CapScale {
  std::span<const double> elements;  // one per element
  std::span<const double> rows;  // one per row (all dimensions but the last), or, with columns, its row norm
  std::span<const double> columns;  // column norms: S = rows[i] columns[j]
  double whole = 0;                 // one for the whole tensor

  bool given() const { return whole > 0 || !rows.empty() || !elements.empty(); }
};

// What is asked of one tensor.
struct CapOptions {
  NumberType type = NumberType::kF32;  // the declared arithmetic: kTf32 where f32 is stored
  bool relaxed = false;                // the operator is on the class's relaxed list
  double terms = 0;                    // K; 0: the rule set's assumed_terms
  double condition = 0;                // c of softmax and norm
  CapScale scale;
  // r was computed in wider arithmetic and rounded once into its own type: half a unit of it is allowed for.
  bool truth_rounded = false;
  bool row_sums = false;  // rows are probabilities: their sums are held against row_sum
};

struct CapResult {
  bool decided = false;  // else `detail` says why not
  bool broken = false;
  std::string detail;              // one sentence: what was measured where, and the limit
  double measured = 0, limit = 0;  // of what decided: an error, a relative error, units, a share
  double share = 0;     // measured / limit of the part nearest to its limit; infinite where the limit is 0
  int64_t worst = -1;   // index of the element with the largest share of its limit; -1 where nothing differs
  int64_t outside = 0;  // elements beyond their limit
  int64_t nonfinite =
      0;  // elements that are not finite where the truth, rounded to the type, is, or the other way round
  int64_t truth_subnormal = 0,
          subnormal = 0;   // of the truth rounded to the candidate's type, and of the candidate
  std::string fault_kind;  // "indices", "encoding", or empty
  bool estimated = false;  // S was estimated, or K assumed
};

// Compares candidate `d` with truth `r`; shapes hold the same number of elements (InvalidArgument else). At
// most two passes over both tensors, memory for one number per row and column where S is estimated. Sums in
// double. Method: rule 2 of docs/rules.md.
StatusOr<CapResult> CheckCap(const RuleSet& rules, const RuleClass& rule_class,
                             const formats::ConstTensorRef& r, const formats::ConstTensorRef& d,
                             const CapOptions& options);

// g(K) of a class. `ranks` and `contributions` are given as terms too.
double GrowthOf(Growth growth, double terms, double condition);

// Two samples of one distribution? Kolmogorov-Smirnov distance, mean and variance; samples beyond 2^20
// elements are thinned evenly. NaN counts as a difference.
CapResult CheckDistribution(const RuleSet& rules, const formats::ConstTensorRef& r,
                            const formats::ConstTensorRef& d);

}  // namespace plinth::verify
