// The register tiles of attention: scores of a few rows against packed keys, the mix of packed values,
// and the packing. Every element is one chain of multiply-adds over ascending keys or columns, whatever
// the tile, so that a row's bits do not depend on the rows beside it.
#pragma once

#include <cstdint>

#include "plinth/ops/attention/cpu.h"
#include "plinth/ops/matrix_tile.h"

namespace plinth::ops::PLINTH_KERNEL_LEVEL {

// Vectors of one panel of keys, rows of the largest tile: accumulators, a panel row and one broadcast
// element fill the register file.
#if defined(__AVX512F__)
constexpr int kScoreVectors = 3, kScoreRows = 8;
#elif defined(__AVX2__)
constexpr int kScoreVectors = 3, kScoreRows = 4;
#else
constexpr int kScoreVectors = 2, kScoreRows = 4;
#endif
constexpr int kMixVectors = 2;
static_assert(kScoreRows <= kAttentionTile && kLanes <= kAttentionLanes);

constexpr int64_t LaneCeil(int64_t n) { return (n + kLanes - 1) / kLanes * kLanes; }

// scores[r][j] = scale * sum over d of q[r][d] * panel[d][j], for R rows and C vectors of keys.
template <int R, int C>
static inline void ScoreTile(const float* q, int64_t q_stride, const float* panel, int64_t dim, float scale,
                             float* scores) {
  Vec acc[R][C];
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
    for (int c = 0; c < C; ++c) acc[r][c] = Vec{};
  }
  for (int64_t d = 0; d < dim; ++d) {
    Vec key[C];
#pragma GCC unroll 4
    for (int c = 0; c < C; ++c) key[c] = LoadVec(panel + (d * C + c) * kLanes);
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
      const Vec x = q[r * q_stride + d] - Vec{};
#pragma GCC unroll 4
      for (int c = 0; c < C; ++c) acc[r][c] += x * key[c];
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
    for (int c = 0; c < C; ++c) StoreVec(scores + r * kAttentionKeys + c * kLanes, acc[r][c] * scale);
  }
}

// mixed[r][e] += sum over keys [first, last) of weights[r][j] * values[j][e], for R rows, C vectors.
template <int R, int C>
static inline void MixTile(const float* weights, const float* values, int64_t value_stride, int64_t first,
                           int64_t last, float* mixed) {
  Vec acc[R][C];
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
    for (int c = 0; c < C; ++c) acc[r][c] = LoadVec(mixed + r * value_stride + c * kLanes);
  }
  for (int64_t j = first; j < last; ++j) {
    Vec value[C];
#pragma GCC unroll 4
    for (int c = 0; c < C; ++c) value[c] = LoadVec(values + j * value_stride + c * kLanes);
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
      const Vec x = weights[r * kAttentionKeys + j] - Vec{};
#pragma GCC unroll 4
      for (int c = 0; c < C; ++c) acc[r][c] += x * value[c];
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
    for (int c = 0; c < C; ++c) StoreVec(mixed + r * value_stride + c * kLanes, acc[r][c]);
  }
}

// R rows against the first `wanted` of `count` packed keys; scores up to the end of the last panel that
// holds a wanted key are written.
template <int R>
static __attribute__((noinline)) void Score(const float* q, int64_t q_stride, const float* packed,
                                            int64_t wanted, int64_t count, int64_t dim, float scale,
                                            float* scores) {
  int64_t vectors = (count + kLanes - 1) / kLanes;
  const float* end = scores + wanted;
  for (; vectors >= kScoreVectors && scores < end; vectors -= kScoreVectors) {
    ScoreTile<R, kScoreVectors>(q, q_stride, packed, dim, scale, scores);
    packed += kScoreVectors * kLanes * dim;
    scores += kScoreVectors * kLanes;
  }
  if (scores >= end) return;
  if constexpr (kScoreVectors > 2) {
    if (vectors == 2) ScoreTile<R, 2>(q, q_stride, packed, dim, scale, scores);
  }
  if (vectors == 1) ScoreTile<R, 1>(q, q_stride, packed, dim, scale, scores);
}

template <int R>
static __attribute__((noinline)) void Mix(const float* weights, const float* values, int64_t value_stride,
                                          int64_t first, int64_t last, float* mixed) {
  int64_t e = 0;
  for (; e + kMixVectors * kLanes <= value_stride; e += kMixVectors * kLanes) {
    MixTile<R, kMixVectors>(weights, values + e, value_stride, first, last, mixed + e);
  }
  if (e < value_stride) MixTile<R, 1>(weights, values + e, value_stride, first, last, mixed + e);
}

// Cuts `rows` rows into tiles: calls f(row, integral constant R).
template <int R>
struct TileSize {
  static constexpr int rows = R;
};
template <typename F>
static inline void ForTiles(int64_t rows, F f) {
  int64_t r = 0;
  if constexpr (kScoreRows > 4) {
    for (; r + 8 <= rows; r += 8) f(r, TileSize<8>{});
  }
  for (; r + 4 <= rows; r += 4) f(r, TileSize<4>{});
  for (; r + 2 <= rows; r += 2) f(r, TileSize<2>{});
  if (r < rows) f(r, TileSize<1>{});
}

typedef float Four __attribute__((vector_size(16)));
typedef float FourAnywhere __attribute__((vector_size(16), aligned(4), may_alias));

// Writes columns [0, dim) of four key rows as rows of a panel whose rows are `width` floats long.
static inline void PackFourKeys(const float* const (&row)[4], int64_t dim, int64_t width, float* to) {
  typedef int32_t Pick __attribute__((vector_size(16)));
  int64_t d = 0;
  for (; d + 4 <= dim; d += 4) {
    const Four a = *reinterpret_cast<const FourAnywhere*>(row[0] + d);
    const Four b = *reinterpret_cast<const FourAnywhere*>(row[1] + d);
    const Four c = *reinterpret_cast<const FourAnywhere*>(row[2] + d);
    const Four e = *reinterpret_cast<const FourAnywhere*>(row[3] + d);
    const Four ab_low = __builtin_shuffle(a, b, Pick{0, 4, 1, 5});
    const Four ab_high = __builtin_shuffle(a, b, Pick{2, 6, 3, 7});
    const Four ce_low = __builtin_shuffle(c, e, Pick{0, 4, 1, 5});
    const Four ce_high = __builtin_shuffle(c, e, Pick{2, 6, 3, 7});
    float* at = to + d * width;
    *reinterpret_cast<FourAnywhere*>(at) = __builtin_shuffle(ab_low, ce_low, Pick{0, 1, 4, 5});
    *reinterpret_cast<FourAnywhere*>(at + width) = __builtin_shuffle(ab_low, ce_low, Pick{2, 3, 6, 7});
    *reinterpret_cast<FourAnywhere*>(at + 2 * width) = __builtin_shuffle(ab_high, ce_high, Pick{0, 1, 4, 5});
    *reinterpret_cast<FourAnywhere*>(at + 3 * width) = __builtin_shuffle(ab_high, ce_high, Pick{2, 3, 6, 7});
  }
  for (; d < dim; ++d) {
    for (int j = 0; j < 4; ++j) to[d * width + j] = row[j][d];
  }
}

// Packs `count` keys, row index[i] of k each, into panels of kScoreVectors vectors, the last one as
// narrow as it can be. Lanes behind the last key repeat it; their scores are never used.
static inline void PackKeys(const float* k, int64_t stride, const int32_t* index, int64_t count, int64_t dim,
                            float* to) {
  const int64_t padded = LaneCeil(count);
  for (int64_t start = 0; start < padded; start += kScoreVectors * kLanes) {
    const int64_t width = padded - start < kScoreVectors * kLanes ? padded - start : kScoreVectors * kLanes;
    for (int64_t j = 0; j < width; j += 4) {
      const float* row[4];
      for (int64_t i = 0; i < 4; ++i) {
        const int64_t key = start + j + i < count ? start + j + i : count - 1;
        row[i] = k + index[key] * stride;
      }
      PackFourKeys(row, dim, width, to + j);
    }
    to += width * dim;
  }
}

// Packs rows index[i] of v, zeros behind column `dim`.
static inline void PackValues(const float* v, int64_t stride, const int32_t* index, int64_t count,
                              int64_t dim, float* to) {
  const int64_t width = LaneCeil(dim);
  for (int64_t i = 0; i < count; ++i) {
    const float* from = v + index[i] * stride;
    int64_t e = 0;
    for (; e + kLanes <= dim; e += kLanes) StoreVec(to + e, LoadVec(from + e));
    for (; e < dim; ++e) to[e] = from[e];
    for (; e < width; ++e) to[e] = 0;
    to += width;
  }
}

}  // namespace plinth::ops::PLINTH_KERNEL_LEVEL
