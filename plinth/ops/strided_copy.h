// Copies a strided view into another of the same dimensions, by element size; transposes in tiles.
// Slice, reshape, permute and concat share it. All functions are static, as in strided.h.
#pragma once

#include <cstdint>
#include <cstring>

#include "plinth/ops/strided.h"

namespace plinth::ops {

// How one copy is cut. `across` is the dimension that is contiguous in the source where the last one is
// not: those two are then copied in tiles, so that each cache line read is used whole. -1: by runs.
struct CopyPlan {
  Walk<2> walk;  // operand 0 is the source, 1 the destination
  int across = -1;
  int64_t tile_rows = 0, tile_columns = 0, outer = 0;
  int64_t pieces = 0;
};

inline constexpr int64_t kTileRows = 64;
inline constexpr int64_t kTileColumns = kPieceElements / kTileRows;

static inline CopyPlan PlanCopy(const View& from, const View& to) {
  CopyPlan p;
  p.walk = MakeWalk<2>(to, {&from, &to});
  const Walk<2>& w = p.walk;
  p.pieces = (w.size + kPieceElements - 1) / kPieceElements;
  if (w.step(0) == 1 || w.step(1) != 1 || w.size == 0) return p;
  for (int d = 0; d + 1 < w.rank; ++d) {
    if (w.strides[0][d] == 1 && w.dims[d] >= 8 && w.run() >= 8) p.across = d;
  }
  if (p.across < 0) return p;
  p.tile_rows = (w.dims[p.across] + kTileRows - 1) / kTileRows;
  p.tile_columns = (w.run() + kTileColumns - 1) / kTileColumns;
  p.outer = w.size / (w.dims[p.across] * w.run());
  p.pieces = p.outer * p.tile_rows * p.tile_columns;
  return p;
}

// Reads 16 columns of 16 rows through a buffer, so that both sides see whole cache lines.
template <typename T>
static inline void TransposeBlock(const T* from, int64_t from_step, T* to, int64_t to_row) {
  T block[16][16];
  for (int c = 0; c < 16; ++c) {
    for (int r = 0; r < 16; ++r) block[r][c] = from[c * from_step + r];
  }
  for (int r = 0; r < 16; ++r) std::memcpy(to + r * to_row, block[r], sizeof(block[r]));
}

// One tile: rows are contiguous in the source, columns in the destination.
template <typename T>
static inline void TransposeTile(const T* from, int64_t from_step, T* to, int64_t to_row, int64_t rows,
                                 int64_t columns) {
  const int64_t whole_rows = rows & ~int64_t{15}, whole_columns = columns & ~int64_t{15};
  for (int64_t c = 0; c < whole_columns; c += 16) {
    for (int64_t r = 0; r < whole_rows; r += 16) {
      TransposeBlock(from + c * from_step + r, from_step, to + r * to_row + c, to_row);
    }
  }
  for (int64_t c = 0; c < columns; ++c) {
    for (int64_t r = c < whole_columns ? whole_rows : 0; r < rows; ++r) {
      to[r * to_row + c] = from[c * from_step + r];
    }
  }
}

template <typename T>
static inline void CopyTiles(const CopyPlan& p, const T* from, T* to, int64_t begin, int64_t end) {
  const Walk<2>& w = p.walk;
  const int inner = w.rank - 1;
  for (int64_t piece = begin; piece < end; ++piece) {
    const int64_t column = piece % p.tile_columns * kTileColumns;
    const int64_t row = piece / p.tile_columns % p.tile_rows * kTileRows;
    int64_t rest = piece / p.tile_columns / p.tile_rows;
    int64_t source = column * w.strides[0][inner] + row;
    int64_t target = column * w.strides[1][inner] + row * w.strides[1][p.across];
    for (int d = inner - 1; d >= 0; --d) {
      if (d == p.across) continue;
      source += rest % w.dims[d] * w.strides[0][d];
      target += rest % w.dims[d] * w.strides[1][d];
      rest /= w.dims[d];
    }
    const int64_t rows = w.dims[p.across] - row, columns = w.run() - column;
    TransposeTile(from + source, w.strides[0][inner], to + target, w.strides[1][p.across],
                  rows < kTileRows ? rows : kTileRows, columns < kTileColumns ? columns : kTileColumns);
  }
}

template <typename T>
static inline void CopyRuns(const CopyPlan& p, const T* from, T* to, int64_t begin, int64_t end) {
  const Walk<2>& w = p.walk;
  const int64_t x_step = w.step(0), y_step = w.step(1);
  const ElementRange range = ElementsOf(w.size, begin, end);
  ForRuns(w, range.first, range.last, [&](const int64_t* offsets, int64_t count) {
    const T* x = from + offsets[0];
    T* y = to + offsets[1];
    if (x_step == 1 && y_step == 1 && count >= 16) {
      std::memcpy(y, x, static_cast<uint64_t>(count) * sizeof(T));
    } else if (y_step == 1) {
      for (int64_t i = 0; i < count; ++i) y[i] = x[i * x_step];
    } else {
      for (int64_t i = 0; i < count; ++i) y[i * y_step] = x[i * x_step];
    }
  });
}

template <typename T>
static inline void CopyElements(const View& from, const View& to, int64_t begin, int64_t end) {
  const CopyPlan p = PlanCopy(from, to);
  const T* x = static_cast<const T*>(from.data);
  T* y = static_cast<T*>(to.data);
  if (p.across >= 0) {
    CopyTiles(p, x, y, begin, end);
  } else {
    CopyRuns(p, x, y, begin, end);
  }
}

// Copies pieces [begin, end) of PlanCopy(from, to).pieces. Both have the same dimensions and the same
// element size, which alone matters.
static inline void CopyStrided(const View& from, const View& to, int64_t begin, int64_t end) {
  switch (SizeOf(to.dtype)) {
    case 1:
      return CopyElements<uint8_t>(from, to, begin, end);
    case 2:
      return CopyElements<uint16_t>(from, to, begin, end);
    case 4:
      return CopyElements<uint32_t>(from, to, begin, end);
    default:
      return CopyElements<uint64_t>(from, to, begin, end);
  }
}

}  // namespace plinth::ops
