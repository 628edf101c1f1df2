#include "plinth/ops/concat/checks.h"

namespace plinth::ops {

void ConcatReference(const OpCall& call, RefIo& io) {
  RefTensor& y = io.out[0];
  const int64_t rank = static_cast<int64_t>(y.dims.size());
  const int64_t axis = (call.attributes.Int("axis") + rank) % rank;
  int64_t inner = 1;
  for (int64_t d = axis + 1; d < rank; ++d) inner *= y.dims[d];
  for (int64_t i = 0; i < y.size(); ++i) {
    const int64_t within = i % inner, outer = i / inner / y.dims[axis];
    int64_t along = i / inner % y.dims[axis];
    size_t from = 0;
    while (along >= io.in[from].dims[axis]) along -= io.in[from++].dims[axis];
    y.data[i] = io.in[from].data[(outer * io.in[from].dims[axis] + along) * inner + within];
  }
}

}  // namespace plinth::ops
