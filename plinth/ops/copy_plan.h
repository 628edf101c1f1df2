// Decides how the copy of a strided view into another of the same dimensions is cut into pieces. Slice,
// reshape, permute and concat share it. All functions are static, as in strided.h.
#pragma once

#include <cstdint>

#include "plinth/ops/strided.h"

namespace plinth::ops {

// How one copy is cut. `across` is the dimension that is contiguous in the source where the last one is
// not: those two are then copied in tiles, so that each cache line read is used whole. -1: by runs.
struct CopyPlan {
  Walk<2> walk;  // operand 0 is the source, 1 the destination
  int across = -1;
  int64_t tile_rows = 0, tile_columns = 0, outer = 0;
  int64_t pieces = 0;
};

inline constexpr int64_t kTileRows = 64;
inline constexpr int64_t kTileColumns = kPieceElements / kTileRows;

static inline CopyPlan PlanCopy(const View& from, const View& to) {
  CopyPlan p;
  p.walk = MakeWalk<2>(to, {&from, &to});
  const Walk<2>& w = p.walk;
  p.pieces = (w.size + kPieceElements - 1) / kPieceElements;
  if (w.step(0) == 1 || w.step(1) != 1 || w.size == 0) return p;
  for (int d = 0; d + 1 < w.rank; ++d) {
    if (w.strides[0][d] == 1 && w.dims[d] >= 8 && w.run() >= 8) p.across = d;
  }
  if (p.across < 0) return p;
  p.tile_rows = (w.dims[p.across] + kTileRows - 1) / kTileRows;
  p.tile_columns = (w.run() + kTileColumns - 1) / kTileColumns;
  p.outer = w.size / (w.dims[p.across] * w.run());
  p.pieces = p.outer * p.tile_rows * p.tile_columns;
  return p;
}

}  // namespace plinth::ops
