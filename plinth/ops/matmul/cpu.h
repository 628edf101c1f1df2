// Declares the CPU kernels of matmul.
#pragma once

#include "plinth/ops/cpu_kernel.h"
#include "plinth/ops/matrix_grid.h"

namespace plinth::ops {

struct MatmulParams {
  bool transpose_a, transpose_b;
};

// The pieces of a batch of equal products: one product is cut as MatrixGrid says; products too small to
// be worth a task are grouped.
struct MatmulPieces {
  MatrixGrid grid;
  int64_t batches;
  int64_t group;  // products per piece; 1 where a product has several pieces

  int64_t count() const { return grid.pieces() == 1 ? MatrixCeil(batches, group) : batches * grid.pieces(); }
};
static inline MatmulPieces MatmulPiecesOf(const View& a, const View& out, const MatmulParams& params) {
  const int64_t rows = out.dims[out.rank - 2], columns = out.dims[out.rank - 1];
  const int64_t depth = a.dims[a.rank - (params.transpose_a ? 2 : 1)];
  MatmulPieces pieces{MatrixGridOf(rows, depth, MatrixCeil(columns, kMatrixUnit)), 1, 1};
  for (int i = 0; i + 2 < out.rank; ++i) pieces.batches *= out.dims[i];
  pieces.group = MatrixMax(1, 500000 / MatrixMax(1, rows * columns * depth));
  return pieces;
}

// Floats of one packed right matrix at level 0, 1, 2 (v2, v3, v4).
static inline int64_t MatmulPackedFloats(int64_t depth, int64_t columns, int level) {
  return MatrixCeil(columns, MatrixPanel(level)) * MatrixPanel(level) * depth;
}

PLINTH_DECLARE_CPU(MatmulF32)
// Packs all matrices of in[1] one after another into `scratch`, as MatmulF32 expects them in `prepared`;
// not a kernel of the operator.
PLINTH_DECLARE_CPU(MatmulPackF32)

}  // namespace plinth::ops
