// Iterates the rows that belong to a range of pieces; for kernels that work row by row.
#pragma once

#include <cstdint>

#include "plinth/tensor/view.h"

#ifndef PLINTH_KERNEL_LEVEL
#error "row_pieces.h is for kernel sources, which are compiled per instruction-set level"
#endif

namespace plinth::ops::PLINTH_KERNEL_LEVEL {

// A half-open range of row numbers for a range-based for loop.
struct RowRange {
  struct Iterator {
    int64_t row;
    int64_t operator*() const { return row; }
    void operator++() { ++row; }
    bool operator!=(const Iterator& other) const { return row < other.row; }
  };
  int64_t first, last;
  Iterator begin() const { return {first}; }
  Iterator end() const { return {last}; }
};

// The rows of pieces [begin, end) when a piece holds RowsPerPiece(last dimension) rows of `v`
// (ops/op_spec.h has the same rule for counting pieces).
static inline RowRange RowsOf(const View& v, int64_t begin, int64_t end) {
  int64_t rows = 1, n = v.rank == 0 ? 1 : v.dims[v.rank - 1];
  for (int i = 0; i + 1 < v.rank; ++i) rows *= v.dims[i];
  int64_t per = 16384 / (n < 1 ? 1 : n);
  per = per < 1 ? 1 : per;
  const int64_t last = end * per < rows ? end * per : rows;
  return {begin * per, last};
}

// Row `row` of a row-strided view.
template <typename T>
static inline T* Row(const View& v, int64_t row) {
  const int64_t stride = v.rank < 2 ? 0 : v.strides[v.rank - 2];
  return static_cast<T*>(v.data) + row * stride;
}

}  // namespace plinth::ops::PLINTH_KERNEL_LEVEL
