// The softmax of attention over a block of keys: biases, weights against a running maximum, running sums.
#pragma once

#include <cstdint>

#include "plinth/ops/attention/lanes.h"
#include "plinth/ops/attention/tile.h"

namespace plinth::ops::PLINTH_KERNEL_LEVEL {

#if defined(__clang__)
#define PLINTH_ONE_COPY __attribute__((noinline))
#else
#define PLINTH_ONE_COPY __attribute__((noinline, noclone))
#endif

// scores[j] += bias[index[j]]; `bias` of the query's key 0. `side_by_side`: index[j] is index[0] + j.
static __attribute__((noinline)) void AddBias(const float* bias, const int32_t* index, bool side_by_side,
                                              int64_t n, float* scores) {
  if (side_by_side && n > 0) {
    bias += index[0];
#pragma omp simd
    for (int64_t j = 0; j < n; ++j) scores[j] += bias[j];
  } else {
#pragma omp simd
    for (int64_t j = 0; j < n; ++j) scores[j] += bias[index[j]];
  }
}

// The largest of the first `n` scores, lane by lane. Lanes behind them up to a whole vector become -infinity.
PLINTH_TILE Vec LargestOf(float* scores, int64_t n) {
  const int64_t whole = n / kLanes * kLanes;
  const Vec lowest = -kInf - Vec{};
  Vec tops = lowest;
  for (int64_t j = 0; j < whole; j += kLanes) tops = LargerOf(LoadVec(scores + j), tops);
  if (whole == n) return tops;
  const Vec last = FirstLanes(LoadVec(scores + whole), n - whole, lowest);
  StoreVec(scores + whole, last);
  return LargerOf(last, tops);
}

// scores[j] = exp(scores[j] - base) for whole vectors that hold the first `n`; returns their sums.
PLINTH_TILE Vec Weigh(float* scores, int64_t n, float base) {
  Vec sums{};
  for (int64_t j = 0; j < n; j += kLanes) {
    const Vec e = ExpVec(LoadVec(scores + j) - base);
    StoreVec(scores + j, e);
    sums += e;
  }
  return sums;
}

// Turns the first seen[r] scores of each row into weights against the running maximum, zeros behind them up
// to a whole vector; corrects the running sums and what is mixed so far (`width` floats a row; nullptr:
// nothing). Four rows at a time, so that their chains overlap. One copy for all tiles: a compiler that
// contracted two copies differently would give two sets of bits.
static PLINTH_ONE_COPY void WeighRows(float* scores, const int64_t* seen, int rows, float* tops, float* sums,
                                      float* mixed, int64_t width) {
  for (int first = 0; first < rows; first += 4) {
    const int count = rows - first < 4 ? rows - first : 4;
    float* const own = scores + first * kAttentionKeys;
    const Vec lowest = -kInf - Vec{};
    Vec lanes[4] = {lowest, lowest, lowest, lowest};
    for (int r = 0; r < count; ++r) lanes[r] = LargestOf(own + r * kAttentionKeys, seen[first + r]);
    const FourFloats block_tops = LargestLanes(lanes);
    float factors[4];
    for (int r = 0; r < 4; ++r) lanes[r] = Vec{};
    for (int r = 0; r < count; ++r) {
      const float before = tops[first + r];
      const float top = block_tops[r] > before ? block_tops[r] : before;
      // While there is nothing but -infinity, subtract 0: the weights are then 0 instead of NaN.
      const float base = top == -kInf ? 0.0f : top;
      lanes[r] = Weigh(own + r * kAttentionKeys, seen[first + r], base);
      // Sums below a maximum of -infinity are 0 or NaN, which no factor changes.
      factors[r] = before == top || before == -kInf ? 1.0f : Exp(before - base);
      tops[first + r] = top;
    }
    const FourFloats block_sums = SumsOfLanes(lanes);
    for (int r = 0; r < count; ++r) {
      sums[first + r] = sums[first + r] * factors[r] + block_sums[r];
      if (factors[r] == 1.0f) continue;
      float* row = mixed + (first + r) * width;
      for (int64_t e = 0; e < width; e += kLanes) StoreVec(row + e, LoadVec(row + e) * factors[r]);
    }
  }
}

}  // namespace plinth::ops::PLINTH_KERNEL_LEVEL
