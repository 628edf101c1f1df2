#include <cmath>

#include "plinth/ops/linear/checks.h"

namespace plinth::ops {
namespace {

double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

double Activate(const std::string& name, double x) {
  if (name == "relu") return x < 0 ? 0 : x;
  if (name == "gelu") return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
  if (name == "gelu_tanh") {
    return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
  }
  if (name == "silu") return x * Sigmoid(x);
  if (name == "sigmoid") return Sigmoid(x);
  if (name == "tanh") return std::tanh(x);
  return x;
}

}  // namespace

void LinearReference(const OpCall& call, RefIo& io) {
  const RefTensor &x = io.in[0], &w = io.in[1];
  RefTensor& y = io.out[0];
  const std::string activation = call.attributes.Text("activation", "none");
  const int64_t inputs = w.dims[1], outputs = y.dims.back();
  const auto sum = [&](int64_t row, int64_t n) {
    double s = 0;
    for (int64_t k = 0; k < inputs; ++k) s += x.data[row * inputs + k] * w.data[n * inputs + k];
    return call.has(2) ? s + io.in[2].data[n] : s;
  };
  for (int64_t i = 0; i < y.size(); ++i) {
    const int64_t row = i / outputs, n = i % outputs;
    double v = sum(row, n);
    v = activation == "swiglu" ? Activate("silu", v) * sum(row, outputs + n) : Activate(activation, v);
    y.data[i] = call.has(3) ? v + io.in[3].data[i] : v;
  }
}

}  // namespace plinth::ops
