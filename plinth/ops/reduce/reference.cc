#include <cmath>

#include "plinth/ops/reduce/checks.h"

namespace plinth::ops {
namespace {

bool Reduced(const OpCall& call, int64_t d, int64_t rank) {
  const std::vector<int64_t> axes = call.attributes.Ints("axes");
  for (int64_t a : axes) {
    if (a == d || a + rank == d) return true;
  }
  return axes.empty();
}

long double Joined(const std::string& f, long double a, long double b) {
  if (f == "sum" || f == "mean") return a + b;
  if (f == "prod") return a * b;
  if (std::isnan(a) || std::isnan(b)) return NAN;
  if (a == b) return std::signbit(a) == (f == "min") ? a : b;
  return (a < b) == (f == "min") ? a : b;
}

}  // namespace

int64_t ReducedPosition(const OpCall& call, const RefTensor& x, int64_t i) {
  const int64_t rank = static_cast<int64_t>(x.dims.size());
  int64_t position = 0, stride = 1;
  for (int64_t d = rank - 1; d >= 0; --d) {
    const int64_t index = i % x.dims[d];
    i /= x.dims[d];
    if (Reduced(call, d, rank)) continue;
    position += index * stride;
    stride *= x.dims[d];
  }
  return position;
}

void ReduceReference(const OpCall& call, RefIo& io) {
  const RefTensor& x = io.in[0];
  RefTensor& y = io.out[0];
  const std::string f = call.attributes.Text("function");
  const long double start = f == "prod" ? 1 : f == "max" ? -INFINITY : f == "min" ? INFINITY : 0;
  std::vector<long double> totals(y.data.size(), start);
  std::vector<int64_t> counts(y.data.size(), 0);
  for (int64_t i = 0; i < x.size(); ++i) {
    const int64_t at = ReducedPosition(call, x, i);
    totals[at] = Joined(f, totals[at], x.data[i]);
    ++counts[at];
  }
  for (int64_t i = 0; i < y.size(); ++i) {
    const long double total = f == "mean" ? totals[i] / static_cast<long double>(counts[i]) : totals[i];
    const float narrow = static_cast<float>(total);
    y.data[i] = std::isinf(narrow) ? narrow : static_cast<double>(total);
  }
}

}  // namespace plinth::ops
