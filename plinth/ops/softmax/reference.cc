#include <cmath>

#include "plinth/ops/softmax/checks.h"

namespace plinth::ops {

void SoftmaxReference(const OpCall&, RefIo& io) {
  const RefTensor& x = io.in[0];
  RefTensor& y = io.out[0];
  const int64_t n = x.dims.back();
  for (int64_t start = 0; n > 0 && start < x.size(); start += n) {
    double top = -INFINITY, sum = 0;
    for (int64_t i = 0; i < n; ++i) {
      if (x.data[start + i] > top) top = x.data[start + i];
    }
    for (int64_t i = 0; i < n; ++i) sum += std::exp(x.data[start + i] - top);
    for (int64_t i = 0; i < n; ++i) y.data[start + i] = std::exp(x.data[start + i] - top) / sum;
  }
}

}  // namespace plinth::ops
