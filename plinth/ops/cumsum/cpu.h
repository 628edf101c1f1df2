// Declares the CPU kernels of cumsum and how their work is cut.
#pragma once

#include "plinth/ops/cpu_kernel.h"

namespace plinth::ops {

struct CumsumParams {
  int32_t axis = 0;
  bool reverse = false;
  bool exclusive = false;
};

// A unit is one scan along the axis where that is the last dimension; elsewhere up to kScanColumns scans
// side by side, along the last dimension.
inline constexpr int64_t kScanColumns = 128;
struct ScanGrid {
  int64_t columns = 1;  // scans side by side in all
  int64_t blocks = 1;   // of kScanColumns
  int64_t units = 1;
  int64_t per_piece = 1;
};

static inline ScanGrid GridOf(const View& x, int axis) {
  ScanGrid g;
  if (axis != x.rank - 1) g.columns = x.dims[x.rank - 1];
  g.blocks = (g.columns + kScanColumns - 1) / kScanColumns;
  g.units = g.blocks;
  for (int d = 0; d + 1 < x.rank; ++d) {
    if (d != axis) g.units *= x.dims[d];
  }
  const int64_t width = g.columns < kScanColumns ? g.columns : kScanColumns;
  const int64_t elements = x.dims[axis] * width;
  g.per_piece = elements >= kPieceElements ? 1 : kPieceElements / (elements < 1 ? 1 : elements);
  return g;
}

PLINTH_DECLARE_CPU(CumsumF32)
PLINTH_DECLARE_CPU(CumsumI32)
PLINTH_DECLARE_CPU(CumsumI64)

}  // namespace plinth::ops
