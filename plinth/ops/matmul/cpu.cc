#include "plinth/ops/matmul/cpu.h"

#include "plinth/ops/matrix_product.h"

namespace plinth::ops::PLINTH_KERNEL_LEVEL {
namespace {

// Where product `batch` of the output's leading dimensions begins in `v`, whose own leading dimensions
// broadcast.
inline float* BatchOf(const View& v, const View& out, int64_t batch) {
  int64_t offset = 0;
  for (int i = out.rank - 3; i >= 0; --i) {
    const int64_t index = batch % out.dims[i];
    batch /= out.dims[i];
    const int own = i - (out.rank - v.rank);
    if (own >= 0 && v.dims[own] != 1) offset += index * v.strides[own];
  }
  return static_cast<float*>(v.data) + offset;
}

struct Product {
  MatrixLeft left;
  MatrixRight right;
  MatrixEnd end;
};

inline Product ProductOf(const CpuArgs& args, int64_t batch) {
  const auto& params = *static_cast<const MatmulParams*>(args.params);
  const View &a = args.in[0], &b = args.in[1], &out = args.out[0];
  const int64_t a_row = a.strides[a.rank - 2], a_column = a.strides[a.rank - 1];
  const int64_t b_row = b.strides[b.rank - 2], b_column = b.strides[b.rank - 1];
  Product p;
  p.left = {BatchOf(a, out, batch), params.transpose_a ? a_column : a_row,
            params.transpose_a ? a_row : a_column};
  p.right = {nullptr,
             BatchOf(b, out, batch),
             params.transpose_b ? b_column : b_row,
             params.transpose_b ? b_row : b_column,
             out.dims[out.rank - 1],
             false};
  p.end.out = BatchOf(out, out, batch);
  p.end.out_stride = out.strides[out.rank - 2];
  return p;
}

}  // namespace

void MatmulF32(const CpuArgs& args, int64_t begin, int64_t end) {
  const auto& params = *static_cast<const MatmulParams*>(args.params);
  const View& a = args.in[0];
  const MatmulPieces pieces = MatmulPiecesOf(a, args.out[0], params);
  const int64_t each = pieces.grid.pieces();
  if (each == 1) {
    // Pieces are groups of products; count products from here on.
    begin *= pieces.group;
    end = MatrixMin(end * pieces.group, pieces.batches);
  }
  const int64_t depth = a.dims[a.rank - (params.transpose_a ? 2 : 1)];
  for (int64_t at = begin; at < end;) {
    const int64_t batch = at / each, stop = MatrixMin(end, (batch + 1) * each);
    const Product p = ProductOf(args, batch);
    const MatrixPass pass(p.left, p.right, p.end, depth, reinterpret_cast<MatrixScratch*>(args.scratch));
    RunPieces(pass, pieces.grid, p.right.panels(), at - batch * each, stop - batch * each);
    at = stop;
  }
}

}  // namespace plinth::ops::PLINTH_KERNEL_LEVEL
