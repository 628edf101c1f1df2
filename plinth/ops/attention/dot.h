// Scores of attention as dot products with keys that lie where they are: for few keys, or long ones, whose
// packing would cost more than it saves.
#pragma once

#include <cstdint>

#include "plinth/ops/attention/lanes.h"
#include "plinth/ops/attention/tile.h"

namespace plinth::ops::PLINTH_KERNEL_LEVEL {

constexpr int kDotKeys = 4;
constexpr int kDotRows = kScoreRows > 4 ? 4 : 2;  // accumulators, keys and a row fill the register file

// The first `count` of kLanes floats, zeros behind them.
PLINTH_TILE Vec LoadFirst(const float* from, int64_t count) {
  alignas(64) float lanes[kLanes] = {};
  for (int64_t i = 0; i < count; ++i) lanes[i] = from[i];
  return LoadVec(lanes);
}

template <int R>
PLINTH_TILE void DotStep(const Vec (&row)[R], const Vec (&key)[kDotKeys], Vec (&acc)[R][kDotKeys]) {
#pragma GCC unroll 4
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
    for (int c = 0; c < kDotKeys; ++c) acc[r][c] += row[r] * key[c];
  }
}

// scores[r][c] = scale * sum over d of q[r][d] * key[c][d]: lane d % kLanes adds its terms by ascending d,
// then the lanes are added in halves.
template <int R>
static inline void DotTile(const float* q, int64_t q_stride, const float* const (&key)[kDotKeys], int64_t dim,
                           float scale, float* scores) {
  Vec acc[R][kDotKeys], x[R], k[kDotKeys];
#pragma GCC unroll 4
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
    for (int c = 0; c < kDotKeys; ++c) acc[r][c] = Vec{};
  }
  int64_t d = 0;
  for (; d + kLanes <= dim; d += kLanes) {
#pragma GCC unroll 4
    for (int c = 0; c < kDotKeys; ++c) k[c] = LoadVec(key[c] + d);
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) x[r] = LoadVec(q + r * q_stride + d);
    DotStep<R>(x, k, acc);
  }
  if (d < dim) {
#pragma GCC unroll 4
    for (int c = 0; c < kDotKeys; ++c) k[c] = LoadFirst(key[c] + d, dim - d);
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) x[r] = LoadFirst(q + r * q_stride + d, dim - d);
    DotStep<R>(x, k, acc);
  }
#pragma GCC unroll 4
  for (int r = 0; r < R; ++r) {
    *reinterpret_cast<FourAnywhere*>(scores + r * kAttentionKeys) = SumsOfLanes(acc[r]) * scale;
  }
}

// `rows` rows of q against keys index[first] .. index[last - 1]; scores up to the next multiple of kDotKeys
// behind `first` are written.
static __attribute__((noinline)) void Dot(const float* q, int64_t q_stride, int64_t rows, const float* k,
                                          int64_t k_stride, const int32_t* index, int64_t first, int64_t last,
                                          int64_t dim, float scale, float* scores) {
  for (int64_t j = first; j < last; j += kDotKeys) {
    const float* key[kDotKeys];
    for (int64_t c = 0; c < kDotKeys; ++c) key[c] = k + index[j + c < last ? j + c : last - 1] * k_stride;
    int64_t r = 0;
    for (; r + kDotRows <= rows; r += kDotRows) {
      DotTile<kDotRows>(q + r * q_stride, q_stride, key, dim, scale, scores + r * kAttentionKeys + j);
    }
    if constexpr (kDotRows > 2) {
      if (r + 2 <= rows) {
        DotTile<2>(q + r * q_stride, q_stride, key, dim, scale, scores + r * kAttentionKeys + j);
        r += 2;
      }
    }
    if (r < rows) DotTile<1>(q + r * q_stride, q_stride, key, dim, scale, scores + r * kAttentionKeys + j);
  }
}

}  // namespace plinth::ops::PLINTH_KERNEL_LEVEL
