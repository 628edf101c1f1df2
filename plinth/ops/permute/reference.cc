#include "plinth/ops/permute/checks.h"

namespace plinth::ops {

void PermuteReference(const OpCall& call, RefIo& io) {
  const RefTensor& x = io.in[0];
  RefTensor& y = io.out[0];
  const std::vector<int64_t> axes = call.attributes.Ints("axes");
  const size_t rank = axes.size();
  std::vector<int64_t> index(rank);  // in x
  for (int64_t i = 0; i < y.size(); ++i) {
    int64_t rest = i;
    for (size_t d = rank; d-- > 0;) {
      const int64_t axis = axes[d] < 0 ? axes[d] + static_cast<int64_t>(rank) : axes[d];
      index[axis] = rest % y.dims[d];
      rest /= y.dims[d];
    }
    int64_t at = 0;
    for (size_t d = 0; d < rank; ++d) at = at * x.dims[d] + index[d];
    y.data[i] = x.data[at];
  }
}

}  // namespace plinth::ops
