// Declares reshape: the same elements in the same order under other dimensions.
#pragma once

#include "plinth/ops/builder.h"

namespace plinth::ops {

const OpSpec& ReshapeSpec();

// y has the elements of x in row-major order. In `dims`, 0 keeps the dimension of x at the same place
// (so that [batch, tokens, 512] becomes [batch, tokens, 8, 64] by {0, 0, 8, 64}) and one -1 takes what
// is left, which may be a named dimension: [future, 16] becomes [16*future] by {-1}. x: any type.
// Usually a view that costs nothing.
inline Value Reshape(Builder& b, Value x, std::vector<int64_t> dims) {
  return b.Add1(ReshapeSpec(), {x}, {{"dims", std::move(dims)}});
}

}  // namespace plinth::ops
