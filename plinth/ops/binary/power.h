// Raises a float to a float power, in a form that compilers can vectorise.
#pragma once

#include "plinth/ops/vector_math.h"

namespace plinth::ops::PLINTH_KERNEL_LEVEL {

// log2 of a positive normal double; relative error below 2^-42. Method: x = 2^k m with m in
// [sqrt(1/2), sqrt(2)); ln m = 2 artanh(s) with s = (m - 1) / (m + 1), its series to s^15.
PLINTH_VECTOR double Log2Wide(double x) {
  const uint64_t bits = __builtin_bit_cast(uint64_t, x);
  // Adds what carries into the exponent from sqrt(2) on.
  const uint64_t above = bits + 0x00095f619980c433u;
  const int32_t k = static_cast<int32_t>(above >> 52) - 1023;
  const double m = __builtin_bit_cast(double, bits - (static_cast<uint64_t>(static_cast<int64_t>(k)) << 52));
  const double s = (m - 1.0) / (m + 1.0);
  const double q = s * s;
  double p = 1.0 / 15;
  p = p * q + 1.0 / 13;
  p = p * q + 1.0 / 11;
  p = p * q + 1.0 / 9;
  p = p * q + 1.0 / 7;
  p = p * q + 1.0 / 5;
  p = p * q + 1.0 / 3;
  p = p * q + 1.0;
  return static_cast<double>(k) + 2.8853900817779268 * s * p;  // 2 / ln 2
}

// 2^t for t in [-1000, 1000]; relative error below 2^-36. Method: t = n + r with |r| <= 1/2, the series
// of e^(r ln 2) to degree 9.
PLINTH_VECTOR double Exp2Wide(double t) {
  const double magic = 6755399441055744.0;  // 1.5 * 2^52: adding it rounds to an integer
  const double shifted = t + magic;
  const double r = (t - (shifted - magic)) * 0.69314718055994530942;
  double p = 1.0 / 362880;
  p = p * r + 1.0 / 40320;
  p = p * r + 1.0 / 5040;
  p = p * r + 1.0 / 720;
  p = p * r + 1.0 / 120;
  p = p * r + 1.0 / 24;
  p = p * r + 1.0 / 6;
  p = p * r + 0.5;
  p = p * r + 1.0;
  p = p * r + 1.0;
  // The low bits of `shifted` are n in two's complement.
  const uint64_t scale = (__builtin_bit_cast(uint64_t, shifted) + 1023u) << 52;
  return p * __builtin_bit_cast(double, scale);
}

// x^y as the C standard's pow. At most 1 ULP: the logarithm and the power are computed in double, where
// |y log2 x| < 256 costs at most 2^-34 of relative error, and the result is rounded once.
PLINTH_VECTOR float Power(float x, float y) {
  const float ax = __builtin_fabsf(x);
  const bool zero = ax == 0, infinite = ax > 3.4028234663852886e38f;
  double log = Log2Wide(static_cast<double>(zero || infinite ? 1.0f : ax));
  log = zero ? -__builtin_inf() : log;
  log = infinite ? __builtin_inf() : log;
  double t = static_cast<double>(y) * log;
  t = t > 200.0 ? 200.0 : t;  // rounds to infinity
  t = t < -200.0 ? -200.0 : t;
  float r = static_cast<float>(Exp2Wide(t));

  const float whole = __builtin_floorf(y), half = y * 0.5f;
  const bool integer = whole == y;
  const bool odd = integer && __builtin_floorf(half) != half;
  const bool negative = FloatToBits(x) < 0;
  r = negative && odd ? -r : r;
  r = x < 0 && !integer && !infinite ? __builtin_nanf("") : r;
  r = x != x || y != y ? x + y : r;
  const bool minus_one = x == -1.0f && __builtin_fabsf(y) > 3.4028234663852886e38f;
  return y == 0 || x == 1.0f || minus_one ? 1.0f : r;
}

}  // namespace plinth::ops::PLINTH_KERNEL_LEVEL
