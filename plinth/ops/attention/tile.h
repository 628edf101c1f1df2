// The register tiles of attention: scores of a few rows against packed keys, and the mix of values. Every
// element is one chain of multiply-adds over ascending keys or columns, whatever the tile, so that a row's
// bits do not depend on the rows beside it.
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

// Vectors of values that a mix of `rows` rows takes at once: what the registers hold, so that few rows
// still keep many chains in flight.
constexpr int MixVectors(int rows) { return rows <= 2 || (rows <= 4 && kScoreRows > 4) ? 4 : 2; }

// Where the rows of a mix begin, end, and what the sums are multiplied with at last.
struct MixEnds {
  const float* from;  // nullptr: zero
  int64_t from_stride;
  float* to;
  int64_t to_stride;
  const float* factors;  // one for each row; nullptr: none
};

// to[r][e] = (from[r][e] + sum over keys [first, last) of weights[r][j] * values[j][e]) * factors[r], for R
// rows and C vectors of e.
template <int R, int C>
static inline void MixTile(const float* weights, const float* values, int64_t value_stride, int64_t first,
                           int64_t last, const MixEnds& ends, int64_t e) {
  Vec acc[R][C];
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
    for (int c = 0; c < C; ++c) acc[r][c] = Vec{};
  }
  if (ends.from != nullptr) {
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
      for (int c = 0; c < C; ++c) acc[r][c] = LoadVec(ends.from + r * ends.from_stride + e + c * kLanes);
    }
  }
  values += e;
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
    const float factor = ends.factors == nullptr ? 1.0f : ends.factors[r];
#pragma GCC unroll 4
    for (int c = 0; c < C; ++c) StoreVec(ends.to + r * ends.to_stride + e + c * kLanes, acc[r][c] * factor);
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

// R rows of `width` columns, whole vectors.
template <int R>
static __attribute__((noinline)) void Mix(const float* weights, const float* values, int64_t value_stride,
                                          int64_t first, int64_t last, int64_t width, const MixEnds& ends) {
  constexpr int kMost = MixVectors(R);
  int64_t e = 0;
  for (; e + kMost * kLanes <= width; e += kMost * kLanes) {
    MixTile<R, kMost>(weights, values, value_stride, first, last, ends, e);
  }
  if constexpr (kMost > 2) {
    if (e + 2 * kLanes <= width) {
      MixTile<R, 2>(weights, values, value_stride, first, last, ends, e);
      e += 2 * kLanes;
    }
  }
  if (e < width) MixTile<R, 1>(weights, values, value_stride, first, last, ends, e);
}

// Cuts `rows` rows into nearly equal tiles: calls f(row, integral constant R).
template <int R>
struct TileSize {
  static constexpr int rows = R;
};
template <typename F>
static inline void ForTiles(int64_t rows, F f) {
  const int64_t tiles = (rows + kScoreRows - 1) / kScoreRows;
  for (int64_t t = 0; t < tiles; ++t) {
    const int64_t row = rows * t / tiles;
    switch (rows * (t + 1) / tiles - row) {
      case 1:
        f(row, TileSize<1>{});
        break;
      case 2:
        f(row, TileSize<2>{});
        break;
      case 3:
        f(row, TileSize<3>{});
        break;
      case 4:
        f(row, TileSize<4>{});
        break;
      default:
        if constexpr (kScoreRows > 4) {
          switch (rows * (t + 1) / tiles - row) {
            case 5:
              f(row, TileSize<5>{});
              break;
            case 6:
              f(row, TileSize<6>{});
              break;
            case 7:
              f(row, TileSize<7>{});
              break;
            case 8:
              f(row, TileSize<8>{});
              break;
          }
        }
    }
  }
}

}  // namespace plinth::ops::PLINTH_KERNEL_LEVEL
