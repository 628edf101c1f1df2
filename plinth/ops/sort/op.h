// Declares sort: orders the elements along the last dimension.
#pragma once

#include "plinth/ops/builder.h"

namespace plinth::ops {

const OpSpec& SortSpec();

// Values of x in order along the last dimension, and where each one stood. x: f32 [..., n] with n below
// 2^31; indices: i32. Stable in both directions: equal elements (-0 and +0 are, and any two NaN) keep
// their order. NaN counts as larger than infinity: last when ascending, first when descending.
struct Sorted {
  Value values, indices;
};
inline Sorted Sort(Builder& b, Value x, bool descending = false) {
  const std::vector<Value> out = b.Add(SortSpec(), {x}, {{"descending", descending}});
  return out.size() == 2 ? Sorted{out[0], out[1]} : Sorted{};
}

}  // namespace plinth::ops
