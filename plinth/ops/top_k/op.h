// Declares top_k: the k largest or smallest elements along the last dimension.
#pragma once

#include "plinth/ops/builder.h"

namespace plinth::ops {

const OpSpec& TopKSpec();

// The k largest elements of x (smallest: `largest` false) along the last dimension, best first, and where
// each one stands. x: f32 [..., n] with 1 <= k <= n < 2^31; both outputs [..., k], indices i32. Among
// equal elements (-0 and +0 are, and any two NaN) lower indices come first. NaN counts as larger than
// infinity.
struct TopKResult {
  Value values, indices;
};
inline TopKResult TopK(Builder& b, Value x, int64_t k, bool largest = true) {
  const std::vector<Value> out = b.Add(TopKSpec(), {x}, {{"k", k}, {"largest", largest}});
  return out.size() == 2 ? TopKResult{out[0], out[1]} : TopKResult{};
}

}  // namespace plinth::ops
