// Declares the CPU kernels of cast.
#pragma once

#include "plinth/ops/cpu_kernel.h"

namespace plinth::ops {
// Pieces: kPieceElements elements each.
PLINTH_DECLARE_CPU(CastElements)
}  // namespace plinth::ops
