// Declares the CPU kernel of top_k.
#pragma once

#include "plinth/ops/cpu_kernel.h"

namespace plinth::ops {

struct TopKParams {
  bool largest = true;
};

PLINTH_DECLARE_CPU(TopKF32)

}  // namespace plinth::ops
