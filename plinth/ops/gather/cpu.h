// Declares the CPU kernels of gather.
#pragma once

#include "plinth/ops/cpu_kernel.h"

namespace plinth::ops {
// Pieces: RowsPerPiece(elements of one picked row) indices each.
PLINTH_DECLARE_CPU(GatherBytes)
}  // namespace plinth::ops
