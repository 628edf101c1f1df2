#include "plinth/ops/matmul/cpu.h"

#include "plinth/ops/matrix_product.h"

namespace plinth::ops::PLINTH_KERNEL_LEVEL {
namespace {

// Product `batch` of the output's leading dimensions uses a matrix of `v`, whose own leading dimensions
// broadcast: where it begins, and which one it is, counted in row-major order.
struct Matrix {
  float* data;
  int64_t number;
};
inline Matrix MatrixOf(const View& v, const View& out, int64_t batch) {
  int64_t offset = 0, number = 0, size = 1;
  for (int i = out.rank - 3; i >= 0; --i) {
    const int64_t index = batch % out.dims[i];
    batch /= out.dims[i];
    const int own = i - (out.rank - v.rank);
    if (own < 0) continue;
    if (v.dims[own] != 1) {
      offset += index * v.strides[own];
      number += index * size;
    }
    size *= v.dims[own];
  }
  // Nothing lies where a constant was that has been packed.
  return {v.data == nullptr ? nullptr : static_cast<float*>(v.data) + offset, number};
}

// The matrices of `b` as right sides of products, but for where they lie.
inline MatrixRight RightOf(const View& b, const MatmulParams& params) {
  const int64_t row = b.strides[b.rank - 2], column = b.strides[b.rank - 1];
  if (params.transpose_b) return {nullptr, nullptr, column, row, b.dims[b.rank - 2], false};
  return {nullptr, nullptr, row, column, b.dims[b.rank - 1], false};
}

struct Product {
  MatrixLeft left;
  MatrixRight right;
  MatrixEnd end;
};

inline Product ProductOf(const CpuArgs& args, int64_t batch, int64_t depth) {
  const auto& params = *static_cast<const MatmulParams*>(args.params);
  const View &a = args.in[0], &b = args.in[1], &out = args.out[0];
  const int64_t a_row = a.strides[a.rank - 2], a_column = a.strides[a.rank - 1];
  Product p;
  p.left = {MatrixOf(a, out, batch).data, params.transpose_a ? a_column : a_row,
            params.transpose_a ? a_row : a_column};
  p.right = RightOf(b, params);
  const Matrix right = MatrixOf(b, out, batch);
  p.right.data = right.data;
  if (args.prepared != nullptr) {
    p.right.packed =
        static_cast<const float*>(args.prepared) + right.number * p.right.panels() * kPanel * depth;
  }
  p.end.out = MatrixOf(out, out, batch).data;
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
    const Product p = ProductOf(args, batch, depth);
    const MatrixPass pass(p.left, p.right, p.end, depth, reinterpret_cast<MatrixScratch*>(args.scratch));
    RunPieces(pass, pieces.grid, p.right.panels(), at - batch * each, stop - batch * each);
    at = stop;
  }
}

void MatmulPackF32(const CpuArgs& args, int64_t, int64_t) {
  const auto& params = *static_cast<const MatmulParams*>(args.params);
  const View& b = args.in[1];
  MatrixRight right = RightOf(b, params);
  const int64_t depth = b.dims[b.rank - (params.transpose_b ? 1 : 2)];
  int64_t count = 1;
  for (int i = 0; i + 2 < b.rank; ++i) count *= b.dims[i];
  auto* to = reinterpret_cast<float*>(args.scratch);
  for (int64_t i = 0; i < count; ++i) {
    right.data = MatrixOf(b, b, i).data;
    PackRight(right, depth, to);
    to += right.panels() * kPanel * depth;
  }
}

}  // namespace plinth::ops::PLINTH_KERNEL_LEVEL
