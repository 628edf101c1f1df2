// Declares cumsum: running sums along one axis.
#pragma once

#include "plinth/ops/builder.h"

namespace plinth::ops {

const OpSpec& CumsumSpec();

// y[i] = x[0] + ... + x[i] along `axis` (negative counts from the end). `exclusive` leaves out x[i], so
// that the first is 0; `reverse` sums from the end. x: f32, summed in double and rounded once per
// element; or i32, i64, wrapping around. Rank >= 1. Infinity and NaN stay in all later sums.
inline Value Cumsum(Builder& b, Value x, int64_t axis, bool reverse = false, bool exclusive = false) {
  return b.Add1(CumsumSpec(), {x}, {{"axis", axis}, {"reverse", reverse}, {"exclusive", exclusive}});
}

}  // namespace plinth::ops
