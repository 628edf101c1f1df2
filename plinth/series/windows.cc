#include "plinth/series/windows.h"

#include <algorithm>
#include <limits>

namespace plinth::series {

void LastWindow(std::span<const double> y, std::span<double> window) {
  const size_t n = std::min(y.size(), window.size());
  const auto values = window.last(n);
  std::fill(window.begin(), window.end() - n, std::numeric_limits<double>::quiet_NaN());
  std::copy(y.end() - n, y.end(), values.begin());
}

}  // namespace plinth::series
