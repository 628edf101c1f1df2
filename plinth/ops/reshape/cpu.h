// Declares the CPU kernel of reshape.
#pragma once

#include "plinth/ops/cpu_kernel.h"

namespace plinth::ops {

// The dense memory of `y` under the dimensions of `x`.
static inline View DenseLike(const View& x, const View& y) {
  return DenseView(y.data, y.dtype, x.dims, x.rank);
}

PLINTH_DECLARE_CPU(ReshapeAny)

}  // namespace plinth::ops
