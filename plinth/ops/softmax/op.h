// Declares softmax: turns scores into weights that sum to one along the last dimension.
#pragma once

#include "plinth/ops/builder.h"

namespace plinth::ops {

const OpSpec& SoftmaxSpec();

// y = exp(x - max(x)) / sum(exp(x - max(x))) along the last dimension. x: f32 [..., n], any n >= 0.
// A row that holds a NaN, or +infinity, or nothing but -infinity becomes NaN throughout.
inline Value Softmax(Builder& b, Value x) { return b.Add1(SoftmaxSpec(), {x}); }

}  // namespace plinth::ops
