// Declares rms_norm: divides each row by its root mean square.
#pragma once

#include "plinth/ops/builder.h"

namespace plinth::ops {

const OpSpec& RmsNormSpec();

// y = x / sqrt(mean(x^2) + eps) * weight along the last dimension. x: f32 [..., n]; weight: f32 [n], or
// kNone for all ones; eps: a finite number >= 0. Squares are summed in double, so no finite row
// overflows or underflows. A row that holds a NaN or an infinity follows the formula: NaN where x is
// not finite, 0 elsewhere beside an infinity. A row of zeros with eps 0 is NaN.
// Source: Zhang and Sennrich, "Root Mean Square Layer Normalization", 2019.
inline Value RmsNorm(Builder& b, Value x, Value weight, double eps) {
  return b.Add1(RmsNormSpec(), {x, weight}, {{"eps", eps}});
}

}  // namespace plinth::ops
