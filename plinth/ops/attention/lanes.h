// Whole-vector steps of the softmax inside attention: exponential, comparison, and sums over lanes.
#pragma once

#include <cstdint>

#include "plinth/ops/matrix_tile.h"
#include "plinth/ops/vector_math.h"

namespace plinth::ops::PLINTH_KERNEL_LEVEL {

typedef int32_t VecInt __attribute__((vector_size(4 * kLanes)));

// The larger lane by lane; a NaN in `x` is passed over (the exponential meets it again).
PLINTH_TILE Vec LargerOf(Vec x, Vec top) { return x > top ? x : top; }

// The first `count` lanes of `x`, `other` in the rest.
PLINTH_TILE Vec FirstLanes(Vec x, int64_t count, Vec other) {
  VecInt lane;
#pragma GCC unroll 16
  for (int i = 0; i < kLanes; ++i) lane[i] = i;
  return lane < static_cast<int32_t>(count) ? x : other;
}

// Lanes moved down by `by`, for sums and maxima in halves.
template <int By>
PLINTH_TILE Vec MoveDown(Vec x) {
  return PickLanes(x, x, [](int i) { return (i + By) % kLanes; });
}

typedef float FourFloats __attribute__((vector_size(16)));
typedef float FourAnywhere __attribute__((vector_size(16), aligned(4), may_alias));

// The lanes of each of four vectors joined by `join`, halves first.
template <typename Join>
PLINTH_TILE FourFloats JoinLanes(const Vec (&x)[4], Join join) {
  constexpr int kQuarter = kLanes / 4;
  const Vec even = join(EvenBlocks<2 * kQuarter>(x[0], x[2]), OddBlocks<2 * kQuarter>(x[0], x[2]));
  const Vec odd = join(EvenBlocks<2 * kQuarter>(x[1], x[3]), OddBlocks<2 * kQuarter>(x[1], x[3]));
  Vec all = join(EvenBlocks<kQuarter>(even, odd), OddBlocks<kQuarter>(even, odd));
  if constexpr (kQuarter > 2) all = join(MoveDown<2>(all), all);
  if constexpr (kQuarter > 1) all = join(MoveDown<1>(all), all);
  return FourFloats{all[0], all[kQuarter], all[2 * kQuarter], all[3 * kQuarter]};
}
PLINTH_TILE FourFloats SumsOfLanes(const Vec (&x)[4]) {
  return JoinLanes(
      x, [](Vec a, Vec b) __attribute__((always_inline)) { return a + b; });
}
PLINTH_TILE FourFloats LargestLanes(const Vec (&x)[4]) {
  return JoinLanes(
      x, [](Vec a, Vec b) __attribute__((always_inline)) { return LargerOf(a, b); });
}

// Exp of vector_math.h on a whole vector that holds nothing above 0: the same steps.
PLINTH_TILE Vec ExpVec(Vec x) {
  const Vec c = LargerOf(-120.0f - Vec{}, x);  // keeps NaN
  const Vec t = c * 1.44269504088896341f + kRoundMagic;
  const Vec n = t - kRoundMagic;
  Vec r = c - n * 0.693145751953125f;
  r = r - n * 1.42860682030941723e-6f;
  Vec p = 1.991417026e-4f - Vec{};
  p = p * r + 1.394100879e-3f;
  p = p * r + 8.333273057e-3f;
  p = p * r + 4.166635466e-2f;
  p = p * r + 1.666666682e-1f;
  p = p * r + 0.5f;
  p = p * r * r + r;
  p = p + 1.0f;
  const VecInt e = reinterpret_cast<VecInt>(t) - FloatToBits(kRoundMagic);
  const VecInt half = e >> 1;
  const Vec low = reinterpret_cast<Vec>((half + 127) << 23);
  const Vec high = reinterpret_cast<Vec>((e - half + 127) << 23);
  return p * low * high;
}

}  // namespace plinth::ops::PLINTH_KERNEL_LEVEL
