// Declares layer_norm: centres each row and divides it by its standard deviation.
#pragma once

#include "plinth/ops/builder.h"

namespace plinth::ops {

const OpSpec& LayerNormSpec();

// y = (x - mean) / sqrt(variance + eps) * weight + bias along the last dimension; the variance is the
// population's (divided by n). x: f32 [..., n]; weight, bias: f32 [n], or kNone for ones and zeros; eps:
// a finite number >= 0. Mean and variance are summed in double, in two passes, so that neither a large
// offset nor huge values cost accuracy. A row that holds a NaN or an infinity becomes NaN throughout; so
// does a constant row with eps 0.
// Source: Ba, Kiros and Hinton, "Layer Normalization", 2016.
inline Value LayerNorm(Builder& b, Value x, Value weight, Value bias, double eps) {
  return b.Add1(LayerNormSpec(), {x, weight, bias}, {{"eps", eps}});
}

}  // namespace plinth::ops
