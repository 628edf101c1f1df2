#include "plinth/detect/robust.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace plinth::detect {
namespace {

// Of `values`, all finite and at least one; reorders them.
double QuantileOf(std::vector<double>& values, double q) {
  const double rank = q * static_cast<double>(values.size() - 1);
  const size_t below = std::min(static_cast<size_t>(rank), values.size() - 1);
  const double part = rank - static_cast<double>(below);
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(below);
  std::nth_element(values.begin(), at, values.end());
  const double low = *at;
  if (part <= 0 || below + 1 == values.size()) return low;
  return low + part * (*std::min_element(at + 1, values.end()) - low);
}

std::vector<double> FiniteOf(std::span<const double> values) {
  std::vector<double> finite;
  finite.reserve(values.size());
  for (const double v : values) {
    if (std::isfinite(v)) finite.push_back(v);
  }
  return finite;
}

}  // namespace

double Quantile(std::span<const double> values, double q) {
  std::vector<double> finite = FiniteOf(values);
  return finite.empty() ? std::numeric_limits<double>::quiet_NaN() : QuantileOf(finite, q);
}

Spread SpreadOf(std::span<const double> values) {
  std::vector<double> finite = FiniteOf(values);
  Spread spread;
  if (finite.empty()) return spread;
  spread.middle = QuantileOf(finite, 0.5);
  double sum = 0;
  for (double& v : finite) {
    v = std::fabs(v - spread.middle);
    sum += v;
  }
  // Rounding in the values themselves is no spread.
  const double floor = 1e-12 * std::fabs(spread.middle);
  spread.scale = 1.4826 * QuantileOf(finite, 0.5);
  if (!(spread.scale > floor)) spread.scale = 1.2533 * (sum / static_cast<double>(finite.size()));
  if (!(spread.scale > floor)) spread.scale = std::max(1e-6 * std::fabs(spread.middle), 1e-9);
  // Differences of the largest doubles overflow; their spread is that of the largest double.
  if (!std::isfinite(spread.scale)) spread.scale = std::numeric_limits<double>::max();
  return spread;
}

}  // namespace plinth::detect
