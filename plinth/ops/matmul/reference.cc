#include "plinth/ops/matmul/checks.h"

namespace plinth::ops {
namespace {

// The index of element [batch..., row, column] of `t`, batch being the index over the output's leading
// dimensions, which those of `t` broadcast to.
int64_t IndexOf(const RefTensor& t, const RefTensor& y, int64_t batch, int64_t row, int64_t column) {
  const int64_t rank = static_cast<int64_t>(t.dims.size()), n = static_cast<int64_t>(y.dims.size());
  int64_t index = 0, size = 1;
  for (int64_t i = n - 3; i >= 0; --i) {
    const int64_t at = batch % y.dims[i];
    batch /= y.dims[i];
    const int64_t own = i - (n - rank);
    if (own < 0) continue;
    if (t.dims[own] != 1) index += at * size;
    size *= t.dims[own];
  }
  return (index * t.dims[rank - 2] + row) * t.dims[rank - 1] + column;
}

}  // namespace

void MatmulReference(const OpCall& call, RefIo& io) {
  const RefTensor &a = io.in[0], &b = io.in[1];
  RefTensor& y = io.out[0];
  const bool ta = call.attributes.Flag("transpose_a"), tb = call.attributes.Flag("transpose_b");
  const int64_t m = y.dims[y.dims.size() - 2], n = y.dims.back();
  const int64_t depth = a.dims[a.dims.size() - (ta ? 2 : 1)];
  for (int64_t i = 0; i < y.size(); ++i) {
    const int64_t batch = i / (m * n), row = i / n % m, column = i % n;
    double s = 0;
    for (int64_t k = 0; k < depth; ++k) {
      const double left = a.data[ta ? IndexOf(a, y, batch, k, row) : IndexOf(a, y, batch, row, k)];
      const double right = b.data[tb ? IndexOf(b, y, batch, column, k) : IndexOf(b, y, batch, k, column)];
      s += left * right;
    }
    y.data[i] = s;
  }
}

}  // namespace plinth::ops
