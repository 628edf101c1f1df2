#include <cmath>

#include "plinth/ops/layer_norm/checks.h"

namespace plinth::ops {

// Sums in long double, so that the reference is wider than the kernel's own double.
void LayerNormReference(const OpCall& call, RefIo& io) {
  const RefTensor& x = io.in[0];
  const double eps = call.attributes.Real("eps", 1e-5);
  const int64_t n = x.dims.back();
  for (int64_t start = 0; n > 0 && start < x.size(); start += n) {
    long double mean = 0, variance = 0;
    for (int64_t i = 0; i < n; ++i) mean += x.data[start + i];
    mean /= n;
    for (int64_t i = 0; i < n; ++i) variance += (x.data[start + i] - mean) * (x.data[start + i] - mean);
    const long double deviation = std::sqrt(variance / n + eps);
    for (int64_t i = 0; i < n; ++i) {
      const long double weight = call.has(1) ? io.in[1].data[i] : 1.0;
      const long double bias = call.has(2) ? io.in[2].data[i] : 0.0;
      io.out[0].data[start + i] = static_cast<double>((x.data[start + i] - mean) / deviation * weight + bias);
    }
  }
}

}  // namespace plinth::ops
