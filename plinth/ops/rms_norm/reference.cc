#include <cmath>

#include "plinth/ops/rms_norm/checks.h"

namespace plinth::ops {

void RmsNormReference(const OpCall& call, RefIo& io) {
  const RefTensor& x = io.in[0];
  const bool weighted = call.has(1);
  const double eps = call.attributes.Real("eps", 1e-6);
  const int64_t n = x.dims.back();
  for (int64_t start = 0; n > 0 && start < x.size(); start += n) {
    double squares = 0;
    for (int64_t i = 0; i < n; ++i) squares += x.data[start + i] * x.data[start + i];
    const double rms = std::sqrt(squares / static_cast<double>(n) + eps);
    for (int64_t i = 0; i < n; ++i) {
      io.out[0].data[start + i] = x.data[start + i] / rms * (weighted ? io.in[1].data[i] : 1.0);
    }
  }
}

}  // namespace plinth::ops
