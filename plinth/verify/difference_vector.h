// Registers of one instruction-set level, as the comparing pass uses them. Only difference_kernel.cc and the
// headers of its parts include this.
#pragma once

#include <cstddef>
#include <cstdint>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"  // of the header itself
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>
#pragma GCC diagnostic pop

// Vectors cross no call of a function that is not inlined.
#pragma GCC diagnostic ignored "-Wpsabi"

#define PLINTH_INLINE inline __attribute__((always_inline))

namespace plinth::verify::PLINTH_KERNEL_LEVEL {

#if defined(__AVX512F__)
inline constexpr int kVector = 64;  // bytes of this level's registers
#elif defined(__AVX2__)
inline constexpr int kVector = 32;
#else
inline constexpr int kVector = 16;
#endif
inline constexpr int kWords = kVector / 4;  // 32-bit numbers in a register
inline constexpr int kReals = kVector / 8;  // doubles in a register
inline constexpr int kSums = 8;             // sums run over every eighth element, whatever the level

using Bytes = uint8_t __attribute__((vector_size(kVector)));
using Words = uint32_t __attribute__((vector_size(kVector)));
using Ints = int32_t __attribute__((vector_size(kVector)));
using Floats = float __attribute__((vector_size(kVector)));
using Reals = double __attribute__((vector_size(kVector)));
using Longs = int64_t __attribute__((vector_size(kVector)));
using HalfShorts = uint16_t __attribute__((vector_size(kVector / 2)));
using QuarterShorts = uint16_t __attribute__((vector_size(kVector / 4)));
using HalfWords = uint32_t __attribute__((vector_size(kVector / 2)));
using HalfFloats = float __attribute__((vector_size(kVector / 2)));

template <typename To, typename From>
PLINTH_INLINE To As(From x) {
  return reinterpret_cast<To>(x);
}

template <typename V>
PLINTH_INLINE V Load(const void* from) {
  V v;
  __builtin_memcpy(&v, from, sizeof(V));
  return v;
}
template <typename V>
PLINTH_INLINE void Store(V v, void* to) {
  __builtin_memcpy(to, &v, sizeof(V));
}

template <typename V>
PLINTH_INLINE V Larger(V x, V y) {
  return x > y ? x : y;
}
template <typename V>
PLINTH_INLINE V Smaller(V x, V y) {
  return x < y ? x : y;
}

#if defined(__AVX512F__)
template <>
PLINTH_INLINE Reals Larger(Reals x, Reals y) {
  return _mm512_max_pd(x, y);
}
template <>
PLINTH_INLINE Floats Larger(Floats x, Floats y) {
  return _mm512_max_ps(x, y);
}
template <>
PLINTH_INLINE Reals Smaller(Reals x, Reals y) {
  return _mm512_min_pd(x, y);
}
template <>
PLINTH_INLINE Floats Smaller(Floats x, Floats y) {
  return _mm512_min_ps(x, y);
}
// Of `most`, which is not negative, and |x|.
PLINTH_INLINE Reals LargerMagnitude(Reals most, Reals x) { return _mm512_range_pd(most, x, 0b1011); }
PLINTH_INLINE Floats SmallerMagnitude(Floats least, Floats x) { return _mm512_range_ps(least, x, 0b1010); }
// Bit i of the result: whether x[i] > y[i].
PLINTH_INLINE unsigned Above(Reals x, Reals y) { return _mm512_cmp_pd_mask(x, y, _CMP_GT_OQ); }
// count + 1 where x > y.
PLINTH_INLINE Ints CountAbove(Ints count, Floats x, Floats y) {
  const __mmask16 above = _mm512_cmp_ps_mask(x, y, _CMP_GT_OQ);
  return As<Ints>(
      _mm512_mask_sub_epi32(As<__m512i>(count), above, As<__m512i>(count), _mm512_set1_epi32(-1)));
}
PLINTH_INLINE Words Magnitude(Ints x) { return As<Words>(_mm512_abs_epi32(As<__m512i>(x))); }
PLINTH_INLINE bool AnyNegative(Words x) { return _mm512_movepi32_mask(As<__m512i>(x)) != 0; }
PLINTH_INLINE Reals Widen(HalfFloats x) {
  return _mm512_cvtps_pd(x);  // the compiler would convert in two halves
}
// acc + x y, where the product is exact: with one rounding or two it is the same number.
PLINTH_INLINE Reals AddExact(Reals acc, Reals x, Reals y) { return _mm512_fmadd_pd(x, y, acc); }
#elif defined(__AVX2__)
template <>
PLINTH_INLINE Reals Larger(Reals x, Reals y) {
  return _mm256_max_pd(x, y);
}
template <>
PLINTH_INLINE Floats Larger(Floats x, Floats y) {
  return _mm256_max_ps(x, y);
}
template <>
PLINTH_INLINE Reals Smaller(Reals x, Reals y) {
  return _mm256_min_pd(x, y);
}
template <>
PLINTH_INLINE Floats Smaller(Floats x, Floats y) {
  return _mm256_min_ps(x, y);
}
PLINTH_INLINE unsigned Above(Reals x, Reals y) {
  return static_cast<unsigned>(_mm256_movemask_pd(_mm256_cmp_pd(x, y, _CMP_GT_OQ)));
}
PLINTH_INLINE Words Magnitude(Ints x) { return As<Words>(_mm256_abs_epi32(As<__m256i>(x))); }
PLINTH_INLINE bool AnyNegative(Words x) { return _mm256_movemask_ps(As<__m256>(x)) != 0; }
PLINTH_INLINE Reals Widen(HalfFloats x) { return __builtin_convertvector(x, Reals); }
PLINTH_INLINE Reals AddExact(Reals acc, Reals x, Reals y) { return _mm256_fmadd_pd(x, y, acc); }
#else
template <>
PLINTH_INLINE Reals Larger(Reals x, Reals y) {
  return _mm_max_pd(x, y);
}
template <>
PLINTH_INLINE Floats Larger(Floats x, Floats y) {
  return _mm_max_ps(x, y);
}
template <>
PLINTH_INLINE Reals Smaller(Reals x, Reals y) {
  return _mm_min_pd(x, y);
}
template <>
PLINTH_INLINE Floats Smaller(Floats x, Floats y) {
  return _mm_min_ps(x, y);
}
PLINTH_INLINE unsigned Above(Reals x, Reals y) {
  return static_cast<unsigned>(_mm_movemask_pd(_mm_cmpgt_pd(x, y)));
}
PLINTH_INLINE Words Magnitude(Ints x) { return As<Words>(_mm_abs_epi32(As<__m128i>(x))); }
PLINTH_INLINE bool AnyNegative(Words x) { return _mm_movemask_ps(As<__m128>(x)) != 0; }
PLINTH_INLINE Reals Widen(HalfFloats x) { return __builtin_convertvector(x, Reals); }
PLINTH_INLINE Reals AddExact(Reals acc, Reals x, Reals y) { return acc + x * y; }
#endif

PLINTH_INLINE Reals Magnitude(Reals x) { return As<Reals>(As<Longs>(x) & INT64_MAX); }
#if !defined(__AVX512F__)
PLINTH_INLINE Reals LargerMagnitude(Reals most, Reals x) { return Larger(most, Magnitude(x)); }
PLINTH_INLINE Floats SmallerMagnitude(Floats least, Floats x) {
  return Smaller(least, As<Floats>(As<Ints>(x) & INT32_MAX));
}
PLINTH_INLINE Ints CountAbove(Ints count, Floats x, Floats y) { return count - (x > y); }
#endif

PLINTH_INLINE double Sum(const double* v) {
  return ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7]));
}

PLINTH_INLINE uint64_t BitsOf(double x) {
  uint64_t bits;
  __builtin_memcpy(&bits, &x, 8);
  return bits;
}
PLINTH_INLINE double FromBits(uint64_t bits) {
  double x;
  __builtin_memcpy(&x, &bits, 8);
  return x;
}
PLINTH_INLINE double Abs(double x) { return FromBits(BitsOf(x) & INT64_MAX); }
PLINTH_INLINE bool Finite(double x) { return (BitsOf(x) & INT64_MAX) < 0x7ff0000000000000; }
PLINTH_INLINE bool IsNan(double x) { return (BitsOf(x) & INT64_MAX) > 0x7ff0000000000000; }

}  // namespace plinth::verify::PLINTH_KERNEL_LEVEL
