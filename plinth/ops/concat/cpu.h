// Declares the CPU kernel of concat.
#pragma once

#include "plinth/ops/cpu_kernel.h"

namespace plinth::ops {

struct ConcatParams {
  int32_t axis = 0;
  int32_t count = 0;  // inputs
};

// The part of `y` that input `x` fills when `before` elements along the axis belong to earlier ones.
static inline View TargetOf(const ConcatParams& p, const View& x, const View& y, int64_t before) {
  View v = y;
  v.dims[p.axis] = x.dims[p.axis];
  const int64_t bytes = before * y.strides[p.axis] * SizeOf(y.dtype);
  v.data = y.data == nullptr ? nullptr : static_cast<char*>(y.data) + bytes;
  return v;
}

PLINTH_DECLARE_CPU(ConcatAny)

}  // namespace plinth::ops
