// Declares the CPU kernel of reduce and how its work is cut.
#pragma once

#include "plinth/ops/cpu_kernel.h"

namespace plinth::ops {

// In the order of the tables in cpu.cc and of the names in spec.cc.
enum class ReduceFunction : int32_t { kSum, kMean, kMax, kMin, kProd };
inline constexpr int kReduceFunctions = 5;

struct ReduceParams {
  ReduceFunction function = ReduceFunction::kSum;
  uint32_t axes = 0;  // bit d: dimension d of x is reduced
};

// Some dimensions of a view, neighbours that are contiguous merged. rank >= 1.
struct DimList {
  int rank = 1;
  int64_t size = 1;
  int64_t dims[kMaxRank] = {1};
  int64_t strides[kMaxRank] = {};
};

// A unit is one output where the last dimension is reduced; elsewhere up to kReduceColumns outputs side by
// side along the last dimension.
inline constexpr int64_t kReduceColumns = 128;
struct ReduceGrid {
  DimList kept, reduced;  // kept: without the columns
  int64_t columns = 1, column_stride = 0;
  int64_t blocks = 1;  // of kReduceColumns
  int64_t units = 1;
  int64_t per_piece = 1;
};

static inline void Append(DimList* list, int* rank, int64_t n, int64_t stride) {
  list->size *= n;
  if (*rank > 0 && list->strides[*rank - 1] == stride * n) {
    list->dims[*rank - 1] *= n;
  } else {
    list->dims[(*rank)++] = n;
  }
  list->strides[*rank - 1] = stride;
  list->rank = *rank;
}

static inline ReduceGrid GridOf(const View& x, uint32_t axes) {
  ReduceGrid g;
  int kept = 0, reduced = 0;
  for (int d = 0; d < x.rank; ++d) {
    if ((axes >> d & 1) != 0) {
      Append(&g.reduced, &reduced, x.dims[d], x.strides[d]);
    } else if (d == x.rank - 1) {
      g.columns = x.dims[d];
      g.column_stride = x.strides[d];
    } else {
      Append(&g.kept, &kept, x.dims[d], x.strides[d]);
    }
  }
  g.blocks = (g.columns + kReduceColumns - 1) / kReduceColumns;
  g.units = g.kept.size * g.blocks;
  const int64_t width = g.columns < kReduceColumns ? g.columns : kReduceColumns;
  const int64_t elements = g.reduced.size * width;
  g.per_piece = elements >= kPieceElements ? 1 : kPieceElements / (elements < 1 ? 1 : elements);
  return g;
}

PLINTH_DECLARE_CPU(ReduceF32)

}  // namespace plinth::ops
