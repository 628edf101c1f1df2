// Declares the CPU kernel of slice.
#pragma once

#include "plinth/ops/cpu_kernel.h"

namespace plinth::ops {

// Where the slice starts: `begin` elements from the start, or from the end of the axis (begin <= 0).
struct SliceParams {
  int64_t axis = 0;
  int64_t begin = 0;
  int64_t step = 1;
  bool from_end = false;
};

// The part of `x` that the slice takes; `dims` of `y` are set.
static inline View SlicedView(const SliceParams& p, const View& x, const View& y) {
  View v = y;
  const int64_t start = p.from_end ? x.dims[p.axis] + p.begin : p.begin;
  for (int d = 0; d < x.rank; ++d) v.strides[d] = x.strides[d];
  // A lone element needs no stride, and the step may be too large to multiply with.
  if (y.dims[p.axis] > 1) v.strides[p.axis] = x.strides[p.axis] * p.step;
  const int64_t bytes = start * x.strides[p.axis] * SizeOf(x.dtype);
  v.data = x.data == nullptr ? nullptr : static_cast<char*>(x.data) + bytes;
  return v;
}

PLINTH_DECLARE_CPU(SliceAny)

}  // namespace plinth::ops
