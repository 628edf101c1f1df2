// Walks several strided views of one shape together, in row-major order, as few and long runs as their
// strides allow. All functions are static: kernel sources of every instruction-set level include them.
#pragma once

#include <cstdint>

#include "plinth/ops/cpu_kernel.h"
#include "plinth/tensor/view.h"

namespace plinth::ops {

// N operands over common dimensions. rank >= 1; dimensions of size one are gone and neighbours that are
// contiguous in every operand are merged, so the last dimension is as long as it can be.
template <int N>
struct Walk {
  int rank = 1;
  int64_t size = 1;
  int64_t dims[kMaxRank] = {1};
  int64_t strides[N][kMaxRank] = {};

  // Elements of one run, and the step of operand `k` inside it.
  int64_t run() const __attribute__((always_inline)) { return dims[rank - 1]; }
  int64_t step(int k) const __attribute__((always_inline)) { return strides[k][rank - 1]; }
};

// The stride of dimension `d` of `shape` in `v`, which is aligned to its last dimension: 0 where `v`
// lacks the dimension or has it with size one (broadcasting).
static inline int64_t BroadcastStride(const View& v, const View& shape, int d) {
  const int own = d - (shape.rank - v.rank);
  return own < 0 || v.dims[own] == 1 ? 0 : v.strides[own];
}

// Prepares a walk over the dimensions of `shape`. Each view has these dimensions or broadcasts to them.
template <int N>
static inline Walk<N> MakeWalk(const View& shape, const View* const (&views)[N]) {
  Walk<N> w;
  int rank = 0;
  for (int d = 0; d < shape.rank; ++d) {
    w.size *= shape.dims[d];
    if (shape.dims[d] == 1) continue;
    int64_t stride[N];
    bool merge = rank > 0;
    for (int k = 0; k < N; ++k) {
      stride[k] = BroadcastStride(*views[k], shape, d);
      merge = merge && w.strides[k][rank - 1] == stride[k] * shape.dims[d];
    }
    if (!merge) w.dims[rank++] = 1;
    w.dims[rank - 1] *= shape.dims[d];
    for (int k = 0; k < N; ++k) w.strides[k][rank - 1] = stride[k];
  }
  w.rank = rank == 0 ? 1 : rank;
  return w;
}

// Calls body(offsets, count) for the runs that make up elements [first, last) in row-major order;
// offsets[k] is where the run starts in operand k, in elements; inside, operand k advances by step(k).
template <int N, typename Body>
static inline void ForRuns(const Walk<N>& w, int64_t first, int64_t last, Body body) {
  if (first >= last) return;
  int64_t index[kMaxRank] = {};
  int64_t offsets[N] = {};
  int64_t rest = first;
  for (int d = w.rank - 1; d >= 0; --d) {
    index[d] = rest % w.dims[d];
    rest /= w.dims[d];
    for (int k = 0; k < N; ++k) offsets[k] += index[d] * w.strides[k][d];
  }
  const int inner = w.rank - 1;
  while (true) {
    const int64_t left = w.dims[inner] - index[inner];
    const int64_t count = left < last - first ? left : last - first;
    body(offsets, count);
    first += count;
    if (first >= last) return;
    // Back to the start of the run, then on to the next one.
    for (int k = 0; k < N; ++k) offsets[k] -= index[inner] * w.strides[k][inner];
    index[inner] = 0;
    for (int d = inner - 1; d >= 0; --d) {
      for (int k = 0; k < N; ++k) offsets[k] += w.strides[k][d];
      if (++index[d] < w.dims[d]) break;
      for (int k = 0; k < N; ++k) offsets[k] -= w.dims[d] * w.strides[k][d];
      index[d] = 0;
    }
  }
}

// The elements of pieces [begin, end) when a piece holds kPieceElements of `size` elements.
struct ElementRange {
  int64_t first, last;
};
static inline ElementRange ElementsOf(int64_t size, int64_t begin, int64_t end) {
  const int64_t last = end * kPieceElements;
  return {begin * kPieceElements, last < size ? last : size};
}

}  // namespace plinth::ops
