// Declares permute: reorders dimensions.
#pragma once

#include "plinth/ops/builder.h"

namespace plinth::ops {

const OpSpec& PermuteSpec();

// Dimension d of y is dimension axes[d] of x; `axes` holds each of 0 ... rank-1 once (negative ones count
// from the end). x: any type and shape. A view that costs nothing, unless what follows needs dense memory.
inline Value Permute(Builder& b, Value x, std::vector<int64_t> axes) {
  return b.Add1(PermuteSpec(), {x}, {{"axes", std::move(axes)}});
}

}  // namespace plinth::ops
