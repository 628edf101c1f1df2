// Declares the CPU kernels of layer_norm.
#pragma once

#include "plinth/ops/cpu_kernel.h"

namespace plinth::ops {

struct LayerNormParams {
  double eps;
};

PLINTH_DECLARE_CPU(LayerNormF32)

}  // namespace plinth::ops
