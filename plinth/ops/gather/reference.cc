#include "plinth/ops/gather/checks.h"

namespace plinth::ops {

void GatherReference(const OpCall&, RefIo& io) {
  const RefTensor& data = io.in[0];
  const RefTensor& index = io.in[1];
  int64_t row = 1;
  for (size_t d = 1; d < data.dims.size(); ++d) row *= data.dims[d];
  for (int64_t i = 0; i < index.size(); ++i) {
    for (int64_t c = 0; c < row; ++c) {
      io.out[0].data[i * row + c] = data.data[static_cast<int64_t>(index.data[i]) * row + c];
    }
  }
}

}  // namespace plinth::ops
