#include <cmath>

#include "plinth/ops/rotary/checks.h"

namespace plinth::ops {

void RotaryReference(const OpCall& call, RefIo& io) {
  const RefTensor& x = io.in[0];
  RefTensor& y = io.out[0];
  y.data = x.data;
  const int64_t heads = call.attributes.Int("heads", 1), head_dim = call.attributes.Int("head_dim");
  const int64_t asked = call.attributes.Int("rotary_dims", 0);
  const int64_t half = (asked == 0 ? head_dim : asked) / 2;
  const bool interleaved = call.attributes.Text("style", "halves") == "interleaved";
  const double theta = call.attributes.Real("theta", 10000);
  for (int64_t row = 0; row < x.dims[0]; ++row) {
    for (int64_t h = 0; h < heads; ++h) {
      for (int64_t j = 0; j < half; ++j) {
        const double angle = io.in[1].data[row] / std::pow(theta, static_cast<double>(j) / half);
        const int64_t base = row * x.dims[1] + h * head_dim;
        const int64_t first = base + (interleaved ? 2 * j : j);
        const int64_t second = base + (interleaved ? 2 * j + 1 : j + half);
        const double a = x.data[first], b = x.data[second];
        y.data[first] = a * std::cos(angle) - b * std::sin(angle);
        y.data[second] = a * std::sin(angle) + b * std::cos(angle);
      }
    }
  }
}

}  // namespace plinth::ops
