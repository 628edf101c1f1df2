// Declares the CPU kernels of rms_norm.
#pragma once

#include "plinth/ops/cpu_kernel.h"

namespace plinth::ops {

struct RmsNormParams {
  double eps;
};

PLINTH_DECLARE_CPU(RmsNormF32)

}  // namespace plinth::ops
