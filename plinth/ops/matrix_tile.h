// Multiplies a tile of rows with panels of columns in registers; the innermost part of every matrix
// product. Written with the compiler's vector types, so that one text serves all levels.
#pragma once

#include <cstdint>
#include <utility>

#include "plinth/ops/matrix_grid.h"

#ifndef PLINTH_KERNEL_LEVEL
#error "matrix_tile.h is for kernel sources, which are compiled per instruction-set level"
#endif

namespace plinth::ops::PLINTH_KERNEL_LEVEL {

// Lanes of a vector and rows of the largest tile. With two vectors per row the accumulators fill the
// register file but for two vectors of the panel and one broadcast element: 14 x 2 of 32, 6 x 2 of 16.
#if defined(__AVX512F__)
constexpr int kLanes = 16;
constexpr int kTileRows = 14;
#elif defined(__AVX2__)
constexpr int kLanes = 8;
constexpr int kTileRows = 6;
#else
constexpr int kLanes = 4;
constexpr int kTileRows = 6;
#endif
constexpr int kPanel = 2 * kLanes;  // columns of a panel

typedef float Vec __attribute__((vector_size(4 * kLanes)));
typedef float VecAnywhere __attribute__((vector_size(4 * kLanes), aligned(4), may_alias));

#define PLINTH_TILE static inline __attribute__((always_inline))

PLINTH_TILE Vec LoadVec(const float* p) { return *reinterpret_cast<const VecAnywhere*>(p); }
PLINTH_TILE void StoreVec(float* p, Vec v) { *reinterpret_cast<VecAnywhere*>(p) = v; }

// Lane j of the result is lane from(j) of `a` followed by `b`; `from` is a lambda that captures nothing.
template <typename From, int... J>
PLINTH_TILE Vec PickLanes(Vec a, Vec b, std::integer_sequence<int, J...>) {
  return __builtin_shufflevector(a, b, From{}(J)...);
}
template <typename From>
PLINTH_TILE Vec PickLanes(Vec a, Vec b, From) {
  return PickLanes<From>(a, b, std::make_integer_sequence<int, kLanes>{});
}

// Of two vectors cut into blocks of `S` lanes: the even blocks of both, a's where they are and b's behind
// them; and the odd blocks likewise.
template <int S>
PLINTH_TILE Vec EvenBlocks(Vec a, Vec b) {
  return PickLanes(a, b, [](int j) { return (j & S) == 0 ? j : kLanes + j - S; });
}
template <int S>
PLINTH_TILE Vec OddBlocks(Vec a, Vec b) {
  return PickLanes(a, b, [](int j) { return (j & S) == 0 ? j + S : kLanes + j; });
}

// Where the sums of a tile begin and end. Element [r][j] of panel p lies at
// pointer[r * stride + p * panel_step + j]; bias and residual are added in this order where present.
struct TileEnds {
  const float* from = nullptr;  // sums over smaller k; nullptr: zero
  int64_t from_stride = 0, from_panel = 0;
  float* to = nullptr;
  int64_t to_stride = 0, to_panel = 0;
  const float* bias = nullptr;  // one per column, panels kPanel apart
  const float* residual = nullptr;
  int64_t residual_stride = 0;  // panels kPanel apart
};

// What a tile of R rows fetches into the second-level cache while it multiplies: for every four k,
// TileFetches(R) times kTileAhead floats (two lines), `spread` floats apart from `data` on, then `step`
// floats further. Tiles of one or two rows have no time to spare for more than one.
constexpr int64_t kTileAhead = 32;
constexpr int TileFetches(int64_t rows) { return rows <= 2 ? 1 : 4; }
struct TileAhead {
  const float* data;
  int64_t step;
  int64_t spread = 0;
};

// One step over k of MultiplyTile: acc[r][v] += a[r] * b[v].
template <int R, int P>
PLINTH_TILE void MultiplyStep(const float* a, const float* b, int64_t panel_step, Vec (&acc)[R][2 * P]) {
  Vec column[2 * P];
#pragma GCC unroll 8
  for (int v = 0; v < 2 * P; ++v) column[v] = LoadVec(b + v / 2 * panel_step + v % 2 * kLanes);
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
    const Vec x = a[r * kMatrixStride] - Vec{};
#pragma GCC unroll 8
    for (int v = 0; v < 2 * P; ++v) acc[r][v] += x * column[v];
  }
}

// Sums a[r][k] * b[k][j] over k < depth in ascending order, for R rows and P panels. a: rows kMatrixStride
// apart. b: panels panel_step apart, each row of one panel kPanel floats. Every element is one chain of
// multiply-adds, whatever R and P: a row's bits do not depend on the rows beside it. Meanwhile fetches
// what the caller will need next.

template <int R, int P>
PLINTH_TILE void MultiplyTile(const float* a, const float* b, int64_t panel_step, int64_t depth,
                              TileAhead ahead, const TileEnds& ends) {
  Vec acc[R][2 * P];
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < 2 * P; ++v) acc[r][v] = Vec{};
  }
  if (ends.from != nullptr) {
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 8
      for (int v = 0; v < 2 * P; ++v) {
        acc[r][v] = LoadVec(ends.from + r * ends.from_stride + v / 2 * ends.from_panel + v % 2 * kLanes);
      }
    }
  }
  int64_t k = 0;
  for (; k + 4 <= depth; k += 4) {
    __builtin_prefetch(ahead.data, 0, 2);
    __builtin_prefetch(ahead.data + 16, 0, 2);
    if constexpr (TileFetches(R) > 1) {
      for (int u = 1; u < TileFetches(R); ++u) {
        __builtin_prefetch(ahead.data + u * ahead.spread, 0, 2);
        __builtin_prefetch(ahead.data + u * ahead.spread + 16, 0, 2);
      }
    }
    ahead.data += ahead.step;
#pragma GCC unroll 4
    for (int u = 0; u < 4; ++u) MultiplyStep<R, P>(a + k + u, b + u * kPanel, panel_step, acc);
    b += 4 * kPanel;
  }
  for (; k < depth; ++k, b += kPanel) MultiplyStep<R, P>(a + k, b, panel_step, acc);
  if (ends.bias != nullptr) {
#pragma GCC unroll 8
    for (int v = 0; v < 2 * P; ++v) {
      const Vec bias = LoadVec(ends.bias + v * kLanes);
#pragma GCC unroll 16
      for (int r = 0; r < R; ++r) acc[r][v] += bias;
    }
  }
  if (ends.residual != nullptr) {
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 8
      for (int v = 0; v < 2 * P; ++v)
        acc[r][v] += LoadVec(ends.residual + r * ends.residual_stride + v * kLanes);
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < 2 * P; ++v) {
      StoreVec(ends.to + r * ends.to_stride + v / 2 * ends.to_panel + v % 2 * kLanes, acc[r][v]);
    }
  }
}

// The same for a number of rows known only at run time. P is 1 but for the smallest tiles, where more
// panels keep enough independent chains in flight.
typedef void TileFn(const float* a, const float* b, int64_t panel_step, int64_t depth, const TileAhead& ahead,
                    const TileEnds& ends);

template <int R, int P>
static __attribute__((noinline)) void Tile(const float* a, const float* b, int64_t panel_step, int64_t depth,
                                           const TileAhead& ahead, const TileEnds& ends) {
  MultiplyTile<R, P>(a, b, panel_step, depth, ahead, ends);
}

// Panels that a tile of `rows` rows takes at once, and its function.
struct TileChoice {
  int panels;
  TileFn* many;  // `panels` panels
  TileFn* one;   // one panel
};
static inline TileChoice ChooseTile(int64_t rows) {
  switch (rows) {
    case 1:
      return {4, Tile<1, 4>, Tile<1, 1>};
    case 2:
      return {2, Tile<2, 2>, Tile<2, 1>};
    case 3:
      return {1, Tile<3, 1>, Tile<3, 1>};
    case 4:
      return {1, Tile<4, 1>, Tile<4, 1>};
    case 5:
      return {1, Tile<5, 1>, Tile<5, 1>};
    case 6:
      return {1, Tile<6, 1>, Tile<6, 1>};
#if defined(__AVX512F__)
    case 7:
      return {1, Tile<7, 1>, Tile<7, 1>};
    case 8:
      return {1, Tile<8, 1>, Tile<8, 1>};
    case 9:
      return {1, Tile<9, 1>, Tile<9, 1>};
    case 10:
      return {1, Tile<10, 1>, Tile<10, 1>};
    case 11:
      return {1, Tile<11, 1>, Tile<11, 1>};
    case 12:
      return {1, Tile<12, 1>, Tile<12, 1>};
    case 13:
      return {1, Tile<13, 1>, Tile<13, 1>};
    case 14:
      return {1, Tile<14, 1>, Tile<14, 1>};
#endif
  }
  __builtin_unreachable();
}

}  // namespace plinth::ops::PLINTH_KERNEL_LEVEL
