// Copies a strided view into another of the same dimensions, by element size; transposes in tiles.
#pragma once

#include <cstdint>
#include <cstring>
#include <utility>

#include "plinth/ops/copy_plan.h"

#ifndef PLINTH_KERNEL_LEVEL
#error "strided_copy.h is for kernel sources, which are compiled per instruction-set level"
#endif

namespace plinth::ops::PLINTH_KERNEL_LEVEL {

#if defined(__AVX512F__)
inline constexpr int kVectorBytes = 64;
#elif defined(__AVX2__)
inline constexpr int kVectorBytes = 32;
#else
inline constexpr int kVectorBytes = 16;
#endif

// N elements in one register.
template <typename T, int N>
struct Pack {
  typedef T Vector __attribute__((vector_size(sizeof(T) * N)));
};

// The first (half = 0) or second halves of `a` and `b`, interleaved.
template <int half, typename V, int... I>
static inline __attribute__((always_inline)) V Interleave(V a, V b, std::integer_sequence<int, I...>) {
  constexpr int n = sizeof...(I);
  return __builtin_shufflevector(a, b, (half * (n / 2) + I / 2 + I % 2 * n)...);
}

// Transposes N x N elements in registers: log2 N times, rows i and i + N/2 are interleaved into rows 2i
// and 2i + 1, which moves one bit of the row number into the column number each time.
template <typename T, int N>
static inline __attribute__((always_inline)) void TransposeSquare(const T* from, int64_t from_step, T* to,
                                                                  int64_t to_step) {
  using V = typename Pack<T, N>::Vector;
  using Columns = std::make_integer_sequence<int, N>;
  V a[N], b[N];
#pragma GCC unroll 16
  for (int i = 0; i < N; ++i) std::memcpy(&a[i], from + i * from_step, sizeof(V));
#pragma GCC unroll 4
  for (int stage = 1; stage < N; stage *= 2) {
#pragma GCC unroll 8
    for (int i = 0; i < N / 2; ++i) {
      b[2 * i] = Interleave<0>(a[i], a[i + N / 2], Columns{});
      b[2 * i + 1] = Interleave<1>(a[i], a[i + N / 2], Columns{});
    }
#pragma GCC unroll 16
    for (int i = 0; i < N; ++i) a[i] = b[i];
  }
#pragma GCC unroll 16
  for (int i = 0; i < N; ++i) std::memcpy(to + i * to_step, &a[i], sizeof(V));
}

// Transposes a block of 16 rows by 16 columns.
template <typename T>
static inline void TransposeBlock(const T* from, int64_t from_step, T* to, int64_t to_row) {
  constexpr int N = kVectorBytes / sizeof(T) < 16 ? kVectorBytes / sizeof(T) : 16;
  for (int r = 0; r < 16; r += N) {
    for (int c = 0; c < 16; c += N) {
      TransposeSquare<T, N>(from + c * from_step + r, from_step, to + r * to_row + c, to_row);
    }
  }
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

}  // namespace plinth::ops::PLINTH_KERNEL_LEVEL
