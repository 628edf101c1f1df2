// Elementary functions on float that compilers can vectorise: branch-free, no tables, no library call.
// Included by cpu.cc files only; everything lives in the level's namespace. Errors are stated in units
// in the last place (ULP) against the exact value and checked by `plinth verify ops`.
#pragma once

#include <cstdint>

#ifndef PLINTH_KERNEL_LEVEL
#error "vector_math.h is for kernel sources, which are compiled per instruction-set level"
#endif

namespace plinth::ops::PLINTH_KERNEL_LEVEL {

// static: no symbol leaves the translation unit.
#define PLINTH_VECTOR static inline __attribute__((always_inline))

PLINTH_VECTOR float BitsToFloat(int32_t i) { return __builtin_bit_cast(float, i); }
PLINTH_VECTOR int32_t FloatToBits(float f) { return __builtin_bit_cast(int32_t, f); }

// e^x. At most 1 ULP in the normal range; gradual underflow; 0 below -104, infinity above 88.73;
// NaN stays NaN. Method: x = n ln2 + r with |r| <= ln2/2 (Cody and Waite's two-part ln2), a polynomial
// of degree 7 for e^r, and two exact scalings so that subnormal results round once.
PLINTH_VECTOR float Exp(float x) {
  const float kMagic = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer
  float c = x < -104.0f ? -104.0f : x;
  c = c > 89.0f ? 89.0f : c;
  const float n = (c * 1.44269504088896341f + kMagic) - kMagic;
  float r = c - n * 0.693145751953125f;  // the upper bits of ln2, exact products for |n| < 2^9
  r = r - n * 1.42860682030941723e-6f;
  float p = 1.98412698e-4f;
  p = p * r + 1.38888889e-3f;
  p = p * r + 8.33333333e-3f;
  p = p * r + 4.16666667e-2f;
  p = p * r + 1.66666667e-1f;
  p = p * r + 0.5f;
  p = p * r * r + r;
  p = p + 1.0f;
  const int32_t e = static_cast<int32_t>(n);
  const int32_t half = e >> 1;
  const float y = p * BitsToFloat((half + 127) << 23) * BitsToFloat((e - half + 127) << 23);
  return x != x ? x : y;
}

}  // namespace plinth::ops::PLINTH_KERNEL_LEVEL
