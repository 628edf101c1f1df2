#include <algorithm>
#include <cmath>
#include <numeric>

#include "plinth/ops/sort/checks.h"

namespace plinth::ops {

void SortReference(const OpCall& call, RefIo& io) {
  const RefTensor& x = io.in[0];
  const bool descending = call.attributes.Flag("descending");
  const int64_t n = x.dims.back();
  std::vector<int64_t> order(n);
  for (int64_t row = 0; n > 0 && row < x.size(); row += n) {
    const double* v = &x.data[row];
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      const double low = v[descending ? b : a], high = v[descending ? a : b];
      return std::isnan(low) ? false : std::isnan(high) || low < high;
    });
    for (int64_t i = 0; i < n; ++i) {
      io.out[0].data[row + i] = v[order[i]];
      io.out[1].data[row + i] = static_cast<double>(order[i]);
    }
  }
}

}  // namespace plinth::ops
