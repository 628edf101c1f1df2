// Declares the CPU kernel of pad.
#pragma once

#include "plinth/ops/cpu_kernel.h"

namespace plinth::ops {

enum class PadMode : int32_t { kConstant, kEdge, kReflect };

struct PadParams {
  PadMode mode = PadMode::kConstant;
  int64_t before[kMaxRank] = {};
  uint64_t value = 0;  // the bits of one element, from the low end
};

PLINTH_DECLARE_CPU(PadAny)

}  // namespace plinth::ops
