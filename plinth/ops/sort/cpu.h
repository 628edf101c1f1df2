// Declares the CPU kernel of sort.
#pragma once

#include "plinth/ops/cpu_kernel.h"

namespace plinth::ops {

struct SortParams {
  bool descending = false;
};

PLINTH_DECLARE_CPU(SortF32)

}  // namespace plinth::ops
