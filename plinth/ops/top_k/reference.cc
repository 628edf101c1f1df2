#include <cmath>

#include "plinth/ops/top_k/checks.h"

namespace plinth::ops {
namespace {

// Whether `a` comes before `b` among the largest; neither does when they are equal.
bool Above(double a, double b) { return std::isnan(a) ? !std::isnan(b) : a > b; }
bool Below(double a, double b) { return std::isnan(b) ? !std::isnan(a) : a < b; }

}  // namespace

// The place of an element is the number of those that come before it.
void TopKReference(const OpCall& call, RefIo& io) {
  const RefTensor& x = io.in[0];
  const bool largest = call.attributes.Flag("largest", true);
  const int64_t n = x.dims.back(), k = call.attributes.Int("k");
  for (int64_t row = 0; row < x.size() / n; ++row) {
    const double* v = &x.data[row * n];
    for (int64_t i = 0; i < n; ++i) {
      int64_t place = 0;
      for (int64_t j = 0; j < n && place < k; ++j) {
        const bool before = largest ? Above(v[j], v[i]) : Below(v[j], v[i]);
        const bool after = largest ? Above(v[i], v[j]) : Below(v[i], v[j]);
        place += before || (!after && j < i);
      }
      if (place >= k) continue;
      io.out[0].data[row * k + place] = v[i];
      io.out[1].data[row * k + place] = static_cast<double>(i);
    }
  }
}

}  // namespace plinth::ops
