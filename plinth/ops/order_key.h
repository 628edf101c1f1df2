// Turns floats into integers that sort like them; for kernels that order elements.
#pragma once

#include "plinth/ops/vector_math.h"

namespace plinth::ops::PLINTH_KERNEL_LEVEL {

// Unsigned order of the result = order of x: -infinity < ... < -0 = +0 < ... < infinity < NaN, and all
// NaN alike.
PLINTH_VECTOR uint32_t OrderKey(float x) {
  const int32_t bits = FloatToBits(x == 0 ? 0.0f : x);
  // Negative numbers grow downwards: turn all their bits over; give the others the upper half.
  const uint32_t key = static_cast<uint32_t>(bits ^ ((bits >> 31) | INT32_MIN));
  return x != x ? UINT32_MAX : key;
}

}  // namespace plinth::ops::PLINTH_KERNEL_LEVEL
