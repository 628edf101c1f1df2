// Declares the CPU kernels of rotary.
#pragma once

#include "plinth/ops/cpu_kernel.h"

namespace plinth::ops {

struct RotaryParams {
  int64_t heads;
  int64_t head_dim;
  int64_t pairs;  // per head
  bool interleaved;
};

// Prepared: `pairs` doubles, the angle of pair j at position 1. Scratch: 2 * pairs floats.
PLINTH_DECLARE_CPU(RotaryF32)

}  // namespace plinth::ops
