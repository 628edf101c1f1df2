// Declares the CPU kernels of softmax.
#pragma once

#include "plinth/ops/cpu_kernel.h"

namespace plinth::ops {
PLINTH_DECLARE_CPU(SoftmaxF32)
}  // namespace plinth::ops
