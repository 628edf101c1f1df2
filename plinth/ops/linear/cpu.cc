#include "plinth/ops/linear/cpu.h"

#include "plinth/ops/matrix_product.h"

namespace plinth::ops::PLINTH_KERNEL_LEVEL {
namespace {

// The weight [N, K] as the right matrix [K, N].
inline MatrixRight RightOf(const CpuArgs& args, Activation activation) {
  const View& w = args.in[1];
  const bool pairs = activation == Activation::kSwiglu;
  return {static_cast<const float*>(args.prepared),
          static_cast<const float*>(w.data),
          w.strides[1],
          w.strides[0],
          pairs ? w.dims[0] / 2 : w.dims[0],
          pairs};
}

// Rows of a row-strided view and the distance between them.
inline int64_t RowsOfView(const View& v) {
  int64_t rows = 1;
  for (int i = 0; i + 1 < v.rank; ++i) rows *= v.dims[i];
  return rows;
}
inline int64_t RowStep(const View& v) { return v.rank < 2 ? 0 : v.strides[v.rank - 2]; }

inline MatrixEnd EndOf(const CpuArgs& args, Activation activation) {
  MatrixEnd end;
  end.activation = activation;
  end.bias = static_cast<const float*>(args.in[2].data);
  end.residual = static_cast<const float*>(args.in[3].data);
  end.residual_stride = end.residual == nullptr ? 0 : RowStep(args.in[3]);
  end.out = static_cast<float*>(args.out[0].data);
  end.out_stride = RowStep(args.out[0]);
  return end;
}

}  // namespace

void LinearF32(const CpuArgs& args, int64_t begin, int64_t end) {
  const auto& params = *static_cast<const LinearParams*>(args.params);
  const View& x = args.in[0];
  const int64_t rows = RowsOfView(x), depth = x.dims[x.rank - 1];
  const MatrixRight right = RightOf(args, params.activation);
  const MatrixEnd finish = EndOf(args, params.activation);
  const MatrixLeft left{static_cast<const float*>(x.data), RowStep(x), 1};
  const MatrixPass pass(left, right, finish, depth, reinterpret_cast<MatrixScratch*>(args.scratch));
  const int64_t units = MatrixCeil(right.pairs ? 2 * right.columns : right.columns, kMatrixUnit);
  RunPieces(pass, MatrixGridOf(rows, depth, units), right.panels(), begin, end);
}

void LinearPackF32(const CpuArgs& args, int64_t, int64_t) {
  const auto& params = *static_cast<const LinearParams*>(args.params);
  PackRight(RightOf(args, params.activation), args.in[1].dims[1], reinterpret_cast<float*>(args.scratch));
}

void LinearFinishF32(const CpuArgs& args, int64_t begin, int64_t end) {
  const auto& params = *static_cast<const LinearParams*>(args.params);
  const MatrixEnd finish = EndOf(args, params.activation);
  const int64_t columns = args.out[0].dims[args.out[0].rank - 1];
  const auto* sums = reinterpret_cast<const float*>(args.scratch);
  for (int64_t first = 0; first < columns; first += kPanel) {
    ChooseFinish(params.activation)(finish, sums + first, columns, begin, end - begin, first,
                                    MatrixMin(kPanel, columns - first), columns);
  }
}

}  // namespace plinth::ops::PLINTH_KERNEL_LEVEL
