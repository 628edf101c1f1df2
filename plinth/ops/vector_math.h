// Elementary functions on float that compilers can vectorise: branch-free, no tables, no library call.
// Included by cpu.cc files only; everything lives in the level's namespace. Errors are stated in units
// in the last place (ULP) against the exact value, subnormal results included, and checked over dense
// sweeps by vector_math_test.cc at every level. NaN gives NaN. Polynomials without another source are
// minimax fits (Remez exchange, weighted for the relative error of the result).
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
PLINTH_VECTOR float Abs(float x) { return __builtin_fabsf(x); }
// The magnitude of `x` with the sign of `sign`.
PLINTH_VECTOR float CopySign(float x, float sign) {
  return BitsToFloat((FloatToBits(x) & 0x7fffffff) | (FloatToBits(sign) & INT32_MIN));
}
// 2^n for n in [-126, 127].
PLINTH_VECTOR float PowerOfTwo(int32_t n) {
  return BitsToFloat(static_cast<int32_t>(static_cast<uint32_t>(n + 127) << 23));
}

inline constexpr float kRoundMagic = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer
inline constexpr float kInf = __builtin_inff();
inline constexpr float kNan = __builtin_nanf("");

// e^x in two factors, value * scale, so that a product with something large or small rounds once.
struct ScaledExp {
  float value, scale;
};

// e^r - 1 for |r| <= ln2/2.
PLINTH_VECTOR float Expm1OfReduced(float r) {
  float p = 1.991417026e-4f;
  p = p * r + 1.394100879e-3f;
  p = p * r + 8.333273057e-3f;
  p = p * r + 4.166635466e-2f;
  p = p * r + 1.666666682e-1f;
  p = p * r + 0.5f;
  return p * r * r + r;
}

// value * scale = e^r * 2^n for |r| <= ln2/2 and n in [-250, 250]; `n` comes with the magic number added.
PLINTH_VECTOR ScaledExp ExpOfReduced(float r, float n_plus_magic) {
  const float p = Expm1OfReduced(r) + 1.0f;
  const int32_t e = FloatToBits(n_plus_magic) - FloatToBits(kRoundMagic);
  const int32_t half = e >> 1;
  return {p * PowerOfTwo(half), PowerOfTwo(e - half)};
}

// Both factors of e^x; x is clamped to [-120, 89], beyond which a float result is 0 or infinity.
// Method: x = n ln2 + r with |r| <= ln2/2 (Cody and Waite's two-part ln2), a polynomial for e^r.
PLINTH_VECTOR ScaledExp ExpFactors(float x) {
  float c = x < -120.0f ? -120.0f : x;
  c = c > 89.0f ? 89.0f : c;
  const float t = c * 1.44269504088896341f + kRoundMagic;
  const float n = t - kRoundMagic;
  float r = c - n * 0.693145751953125f;  // the upper bits of ln2, exact products for |n| < 2^9
  r = r - n * 1.42860682030941723e-6f;
  return ExpOfReduced(r, t);
}

// The same for an argument whose last bits matter: a float cannot hold -x^2/2 well enough, because
// e^x turns an absolute error of the argument into a relative one of the result. v in [-120, 89].
PLINTH_VECTOR ScaledExp ExpFactorsWide(double v) {
  const float t = static_cast<float>(v) * 1.44269504088896341f + kRoundMagic;
  const float n = t - kRoundMagic;
  return ExpOfReduced(static_cast<float>(v - static_cast<double>(n) * 0.69314718055994530942), t);
}

// e^x. At most 1 ULP; gradual underflow; 0 below -104, infinity above 88.73.
PLINTH_VECTOR float Exp(float x) {
  const ScaledExp e = ExpFactors(x);
  return e.value * e.scale;
}

// e^x - 1. At most 2 ULP; keeps the sign of zero.
PLINTH_VECTOR float Expm1(float x) {
  float c = x < -18.0f ? -18.0f : x;
  c = c > 89.0f ? 89.0f : c;
  const float t = c * 1.44269504088896341f + kRoundMagic;
  const float n = t - kRoundMagic;
  float r = c - n * 0.693145751953125f;
  r = r - n * 1.42860682030941723e-6f;
  const float p = Expm1OfReduced(r);
  // e^x - 1 = 2^n ((e^r - 1) + (1 - 2^-n)); the bracket's second term is exact for |n| <= 24 and
  // rounds to 1 beyond.
  const int32_t e = FloatToBits(t) - FloatToBits(kRoundMagic);
  const float one_minus = 1.0f - PowerOfTwo(e > 30 ? -30 : -e);
  const int32_t half = e >> 1;
  const float y = (p + one_minus) * PowerOfTwo(half) * PowerOfTwo(e - half);
  return x == 0 ? x : y;
}

// log(1 + f) + k ln2 for f in [sqrt(1/2) - 1, sqrt(2) - 1].
PLINTH_VECTOR float LogOfReduced(float f, float k) {
  float p = 6.915539724e-2f;
  p = p * f - 1.178984816e-1f;
  p = p * f + 1.18729164e-1f;
  p = p * f - 1.238433723e-1f;
  p = p * f + 1.421866552e-1f;
  p = p * f - 1.666925177e-1f;
  p = p * f + 2.000222623e-1f;
  p = p * f - 2.499998658e-1f;
  p = p * f + 3.333331045e-1f;
  const float s = f * f;
  float y = p * f * s;
  y = y + k * 1.42860682030941723e-6f;
  y = y - 0.5f * s;
  return (f + y) + k * 0.693145751953125f;
}

// The exponent k for which x / 2^k lies in [sqrt(1/2), sqrt(2)); x positive and normal.
PLINTH_VECTOR int32_t LogExponent(float x) {
  return static_cast<int32_t>(static_cast<uint32_t>(FloatToBits(x)) - 0x3f3504f3u) >> 23;
}
PLINTH_VECTOR float DropExponent(float x, int32_t k) {
  return BitsToFloat(
      static_cast<int32_t>(static_cast<uint32_t>(FloatToBits(x)) - (static_cast<uint32_t>(k) << 23)));
}

// ln x. At most 2 ULP. -infinity at +-0, NaN below.
PLINTH_VECTOR float Log(float x) {
  const bool tiny = x < 0x1p-126f;
  const float z = tiny ? x * 0x1p25f : x;
  const int32_t k = LogExponent(z);
  const float y = LogOfReduced(DropExponent(z, k) - 1.0f, static_cast<float>(tiny ? k - 25 : k));
  const float high = x < kInf ? y : x;  // infinity and NaN
  const float low = x == 0 ? -kInf : kNan;
  return x <= 0 ? low : high;
}

// ln(1 + x). At most 2 ULP; keeps the sign of zero; -infinity at -1, NaN below.
// Method: 1 + x as a float and its rounding error, which goes into the reduced argument.
PLINTH_VECTOR float Log1p(float x) {
  const float u = 1.0f + x;
  const float b = u - 1.0f;
  const float lost = (1.0f - (u - b)) + (x - b);
  const int32_t k = LogExponent(u);
  const float f = (DropExponent(u, k) - 1.0f) + lost * PowerOfTwo(k > 60 ? -60 : -k);
  const float y = LogOfReduced(f, static_cast<float>(k));
  const float high = x < kInf ? y : x;
  const float low = x == -1.0f ? -kInf : kNan;
  const float inside = x == 0 ? x : high;
  return x <= -1.0f ? low : inside;
}

// tanh x. At most 3 ULP; +-1 beyond 9.02; keeps the sign of zero. Method: t / (t + 2), t = e^2x - 1.
PLINTH_VECTOR float Tanh(float x) {
  const float a = Abs(x);
  const float t = Expm1(a > 10.0f ? 20.0f : 2.0f * a);
  return CopySign(t / (t + 2.0f), x);
}

// 1 / (1 + e^-x). At most 3 ULP, in the tail towards 0 too.
PLINTH_VECTOR float Sigmoid(float x) {
  const ScaledExp e = ExpFactors(-Abs(x));
  const float d = 1.0f + e.value * e.scale;
  return x < 0 ? e.value / d * e.scale : 1.0f / d;
}

// x / (1 + e^-x). At most 3 ULP, in the tail towards -0 too. NaN at -infinity, as -infinity * 0 is.
PLINTH_VECTOR float Silu(float x) {
  const ScaledExp e = ExpFactors(-Abs(x));
  const float d = 1.0f + e.value * e.scale;
  const float c = x < -120.0f ? -120.0f : x;  // e.value is clamped there; the result is -0 by then
  const float low = c * e.value / d * e.scale;
  const float y = x < 0 ? low : x / d;
  return x == -kInf ? kNan : y;
}

// ln(1 + e^x). At most 3 ULP. Method: max(x, 0) + log1p(e^-|x|).
PLINTH_VECTOR float Softplus(float x) {
  const ScaledExp e = ExpFactors(-Abs(x));
  const float tail = e.value * e.scale;
  return (x > 0 ? x : 0.0f) + Log1p(tail);
}

// erf x. At most 2 ULP; keeps the sign of zero.
// Method: x + x P(x^2) below 0.92, 1 - e^-P(x) above.
PLINTH_VECTOR float Erf(float x) {
  const float a = Abs(x);
  const float c = a > 4.0f ? 4.0f : a;
  const float s = c * c;
  float p = 8.345222645e-5f;
  p = p * s - 8.137437223e-4f;
  p = p * s + 5.200634305e-3f;
  p = p * s - 2.68592708e-2f;
  p = p * s + 1.128369394e-1f;
  p = p * s - 3.76126337e-1f;
  p = p * s + 1.283791666e-1f;
  const float small = p * c + c;
  float q = -1.959347543e-4f;
  q = q * c + 3.0431946e-3f;
  q = q * c - 2.222683599e-2f;
  q = q * c + 1.039314357e-1f;
  q = q * c + 6.371824154e-1f;
  q = q * c + 1.127675536f;
  q = q * c + 1.956955249e-4f;
  const float large = 1.0f - Exp(-q);
  return CopySign(a < 0.92f ? small : large, x);
}

// x times the normal distribution function of x: x/2 (1 + erf(x/sqrt 2)). At most 5 ULP, in the tail
// towards -0 too. NaN at -infinity.
// Method: Phi(-a) = e^(-a^2/2) t P(t) with t = 1 / (1 + a/4), after Abramowitz and Stegun 7.1.26.
PLINTH_VECTOR float GeluExact(float x) {
  const float a0 = Abs(x);
  const float a = a0 > 15.0f ? 15.0f : a0;  // Phi(-15) is far below the smallest float
  // The rounding error of the divisor would weigh threefold; it is exactly known.
  const float d = 1.0f + 0.25f * a;
  const float t0 = 1.0f / d;
  const float t = t0 - t0 * t0 * (0.25f * a - (d - 1.0f));
  const float s = (t0 - 0.5f) - t0 * t0 * (0.25f * a - (d - 1.0f));
  float q = 1.695149035e-2f;
  q = q * s + 1.141577096e-2f;
  q = q * s - 5.022687603e-2f;
  q = q * s - 5.619324681e-2f;
  q = q * s + 6.020003005e-2f;
  q = q * s + 2.416150589e-1f;
  q = q * s + 3.73046972e-1f;
  q = q * s + 3.871369039e-1f;
  q = q * s + 3.039482933e-1f;
  q = q * s + 1.888212838e-1f;
  q = q * t;
  const ScaledExp e = ExpFactorsWide(static_cast<double>(a) * static_cast<double>(a) * -0.5);
  const float low = -a * q * e.value * e.scale;
  const float high = x * (1.0f - q * e.value * e.scale);
  const float y = x < 0 ? low : high;
  return x == -kInf ? kNan : y;
}

// x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))), which is x / (1 + e^-u) with u twice the tangent's
// argument. At most 4 ULP, in the tail towards -0 too. NaN at -infinity.
PLINTH_VECTOR float GeluTanh(float x) {
  const double w = static_cast<double>(x);
  double u = w * (1.5957691216057308 + 0.071354816272600247 * (w * w));
  u = u > 0 ? -u : u;
  const ScaledExp e = ExpFactorsWide(u < -120.0 ? -120.0 : u);
  const float d = 1.0f + e.value * e.scale;
  const float c = x < -15.0f ? -15.0f : x;
  const float low = c * e.value / d * e.scale;
  const float y = x < 0 ? low : x / d;
  return x == -kInf ? kNan : y;
}

// sinh x. At most 3 ULP; keeps the sign of zero; infinity beyond 89.42.
PLINTH_VECTOR float Sinh(float x) {
  const float a0 = Abs(x);
  const float a = a0 > 90.0f ? 90.0f : a0;
  const float s = a * a;
  float p = 2.816951517e-6f;
  p = p * s + 1.983615972e-4f;
  p = p * s + 8.333350059e-3f;
  p = p * s + 1.66666665e-1f;
  const float small = p * s * a + a;
  // e^a / 2 is finite for all a whose sinh is; ExpFactors clamps at 89, so halve the argument.
  const ScaledExp e = ExpFactors(a - 0.693145751953125f);
  const float half = (e.value + e.value * -1.42860682030941723e-6f) * e.scale;
  const float large = half - 0.25f / half;
  return CopySign(a < 1.0f ? small : large, x);
}

// asinh x. At most 3 ULP; keeps the sign of zero.
// Method: log1p(a + a^2 / (1 + sqrt(1 + a^2))), and ln a + ln 2 where the square would overflow.
PLINTH_VECTOR float Asinh(float x) {
  const float a = Abs(x);
  const bool big = a > 0x1p26f;
  const float c = big ? 1.0f : a;
  const float v = c + c * c / (1.0f + __builtin_sqrtf(1.0f + c * c));
  const float y = Log1p(big ? a : v);
  return CopySign(big ? y + 0.693147180559945309f : y, x);
}

PLINTH_VECTOR float Sqrt(float x) { return __builtin_sqrtf(x); }

// sin and cos of an angle in radians, |angle| <= 2^32, each within 1 ULP of 1 and, where |angle| <=
// 2^20, within 2 ULP of itself. Method: three-part pi/2 whose first two parts have 21 bits, so that the
// products with the quadrant are exact; then polynomials on [-pi/4, pi/4].
struct SinCosPair {
  float sin, cos;
};
PLINTH_VECTOR SinCosPair SinCos(double angle) {
  const double kMagic = 6755399441055744.0;  // 1.5 * 2^52
  const double t = angle * 0.63661977236758134 + kMagic;
  const double n = t - kMagic;
  double r = angle - n * 0x1.921fbp+0;
  r = r - n * 0x1.5110bp-22;
  r = r - n * 0x1.18469898cc517p-44;
  const int32_t quadrant = static_cast<int32_t>(__builtin_bit_cast(int64_t, t));
  const float f = static_cast<float>(r);
  const float s = f * f;
  float ps = -1.951697733e-4f;
  ps = ps * s + 8.332175844e-3f;
  ps = ps * s - 1.666665491e-1f;
  ps = ps * s * f + f;
  float pc = 2.443809111e-5f;
  pc = pc * s - 1.388736449e-3f;
  pc = pc * s + 4.166664681e-2f;
  pc = pc * s * s + (1.0f - 0.5f * s);
  const bool swap = (quadrant & 1) != 0;
  const float a = swap ? pc : ps;
  const float b = swap ? ps : pc;
  const int32_t sin_sign = (quadrant & 2) << 30;
  const int32_t cos_sign = ((quadrant + 1) & 2) << 30;
  return {BitsToFloat(FloatToBits(a) ^ sin_sign), BitsToFloat(FloatToBits(b) ^ cos_sign)};
}

}  // namespace plinth::ops::PLINTH_KERNEL_LEVEL
