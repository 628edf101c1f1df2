// Compares a result with a reference in double: structure first, then every element against its limit,
// with the statistics that say what kind of error it is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plinth/ops/checks.h"
#include "plinth/tensor/view.h"

namespace plinth::verify {

struct CompareRules {
  // The largest |result - reference| for each element; nullptr: the reference rounded once to the
  // result's type must match exactly, zeros' signs included.
  const std::vector<double>* limits = nullptr;
  // Instead of limits: the largest relative L2 error of the whole tensor (layers of a model).
  std::optional<double> rel_l2;
  bool signed_zero = false;  // zeros must agree in sign under limits too
  // The byte pattern the result was filled with beforehand: an element that still holds it was not
  // written.
  std::optional<uint8_t> prefill;
  // The type whose units max_ulp counts, where the result was widened; nullopt: the result's.
  std::optional<DType> ulp_type;
};

// Statistics run over the elements that are finite on both sides, in double.
struct Comparison {
  // What breaks the structure (shape, NaN or infinity in the wrong place, unwritten element, sign of
  // zero), or the element farthest outside its limit; empty when the result passes.
  std::string problem;
  // The limits cannot be used (wrong count, negative, or not finite where the reference is).
  std::string bad_limits;

  int64_t count = 0;       // elements compared, non-finite ones included
  int64_t outside = 0;     // elements that break a rule
  double max_abs = 0;      // largest |result - reference|
  int64_t worst = -1;      // index of the element with the largest share of its limit
  double worst_share = 0;  // |result - reference| / limit there; infinite where the limit is 0; or rel_l2's
  double limit = 0;        // the limit there
  double max_ulp = 0;      // largest error in units in the last place of the result's type
  double rel_l2 = 0;       // |result - reference|_2 / |reference|_2; 0 for two zeros
  double rmse = 0;
  double mean_error = 0;  // signed: truncation shows here
  double cosine = 1;
  int64_t nan = 0, inf = 0, zero = 0, subnormal = 0;  // counts in the result
  int64_t reference_subnormal = 0;

  bool ok() const { return problem.empty() && bad_limits.empty(); }
};

// One pass; `result` may have any strides and dtype. An infinite reference asks for the same infinity;
// a finite one may overflow in the result's type where its limit reaches the overflow threshold.
Comparison Compare(const View& result, const ops::RefTensor& reference, const CompareRules& rules);

// Whether two views of one shape and type hold the same bits; any NaN equals any NaN, because the sign
// and payload of a NaN depend on operand order and carry no value.
// Returns the index of the first element that differs, or -1.
int64_t FirstBitDifference(const View& a, const View& b);

}  // namespace plinth::verify
