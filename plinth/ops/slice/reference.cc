#include "plinth/ops/slice/checks.h"

namespace plinth::ops {

void SliceReference(const OpCall& call, RefIo& io) {
  const RefTensor& x = io.in[0];
  RefTensor& y = io.out[0];
  int64_t axis = call.attributes.Int("axis");
  if (axis < 0) axis += static_cast<int64_t>(x.dims.size());
  const int64_t n = x.dims[axis];
  int64_t begin = call.attributes.Int("begin");
  if (begin < 0) begin = begin + n < 0 ? 0 : begin + n;
  const int64_t step = call.attributes.Int("step", 1);
  int64_t inner = 1;
  for (size_t d = axis + 1; d < x.dims.size(); ++d) inner *= x.dims[d];
  for (int64_t i = 0; i < y.size(); ++i) {
    const int64_t within = i % inner, along = i / inner % y.dims[axis], outer = i / inner / y.dims[axis];
    y.data[i] = x.data[(outer * n + begin + along * step) * inner + within];
  }
}

}  // namespace plinth::ops
