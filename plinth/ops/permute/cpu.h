// Declares the CPU kernel of permute.
#pragma once

#include "plinth/ops/cpu_kernel.h"

namespace plinth::ops {

struct PermuteParams {
  int32_t axes[kMaxRank] = {};
};

// The memory of `x` under the dimensions of `y`.
static inline View PermutedView(const PermuteParams& p, const View& x, const View& y) {
  View v = y;
  v.data = x.data;
  for (int d = 0; d < x.rank; ++d) v.strides[d] = x.strides[p.axes[d]];
  return v;
}

PLINTH_DECLARE_CPU(PermuteAny)

}  // namespace plinth::ops
