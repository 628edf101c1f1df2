#include "plinth/detect/whiten.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "plinth/detect/fourier.h"
#include "plinth/series/metrics.h"

namespace plinth::detect {
namespace {

constexpr double kWildest = 8;  // spreads at which values are cut before coefficients are estimated
constexpr int64_t kMostTerms = 32;
constexpr int64_t kLeastCycles = 4;  // for a profile by phase

// Takes the median of each phase off.
void TakeCycleOff(std::vector<double>& z, int64_t period) {
  const size_t n = z.size(), p = static_cast<size_t>(period);
  for (size_t phase = 0; phase < p; ++phase) {
    std::vector<double> same;
    for (size_t t = phase; t < n; t += p) same.push_back(z[t]);
    const double middle = Median(same);
    for (size_t t = phase; t < n; t += p) z[t] -= middle;
  }
}

// Normal scores of the known values (NaN: unknown), equal ones sharing their mean rank; then mean 0,
// variance 1.
White ToNormalScores(std::span<const double> values) {
  White white;
  white.scores.assign(values.size(), 0.0);
  std::vector<size_t> order;
  for (size_t i = 0; i < values.size(); ++i) {
    if (!std::isnan(values[i])) order.push_back(i);
  }
  const double n = static_cast<double>(order.size());
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return values[a] < values[b]; });
  double sum = 0, squares = 0;
  for (size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    while (end < order.size() && values[order[end]] == values[order[begin]]) ++end;
    const double rank = static_cast<double>(begin + end - 1) / 2;
    const double score = series::NormalQuantile((rank + 0.5) / n);
    for (size_t k = begin; k < end; ++k) white.scores[order[k]] = score;
    sum += static_cast<double>(end - begin) * score;
    squares += static_cast<double>(end - begin) * score * score;
  }
  if (order.empty()) return white;
  const double mean = sum / n, variance = squares / n - mean * mean;
  white.known = n / static_cast<double>(values.size());
  white.silent = !(variance > 1e-3);
  if (white.silent) return white;
  for (const size_t i : order) white.scores[i] = (white.scores[i] - mean) / std::sqrt(variance);
  return white;
}

}  // namespace

std::vector<double> Autoregression(std::span<const double> x, int64_t most) {
  const std::vector<double> r = Autocorrelation(x, most);
  std::vector<double> a, best;
  double error = r[0];
  if (!(error > 0)) return best;
  const double n = static_cast<double>(x.size());
  double lowest = 0;  // AIC relative to no term
  for (size_t k = 0; k < static_cast<size_t>(most); ++k) {
    double sum = r[k + 1];
    for (size_t j = 0; j < k; ++j) sum -= a[j] * r[k - j];
    const double reflection = sum / error;
    std::vector<double> next = a;
    for (size_t j = 0; j < k; ++j) next[j] = a[j] - reflection * a[k - 1 - j];
    next.push_back(reflection);
    a = std::move(next);
    error *= 1 - reflection * reflection;
    // A column that its past explains to the last digits leaves rounding only.
    if (!(error > 1e-12 * r[0])) return a;
    const double aic = n * std::log(error / r[0]) + 2 * static_cast<double>(k + 1);
    if (aic < lowest) lowest = aic, best = a;
  }
  return best;
}

White Whiten(const Column& column, int64_t rows) {
  const size_t n = static_cast<size_t>(rows), from = column.z.size() - n;
  std::vector<double> z(column.z.begin() + static_cast<std::ptrdiff_t>(from), column.z.end());
  const int64_t period = PeriodOf(column, column.rows(), rows / kLeastCycles);
  if (period > 0) TakeCycleOff(z, period);
  const Spread spread = SpreadOf(z);
  for (double& v : z) v = std::clamp((v - spread.middle) / spread.scale, -kWildest, kWildest);
  double mean = std::accumulate(z.begin(), z.end(), 0.0) / static_cast<double>(n);
  for (double& v : z) v -= mean;
  const std::vector<double> a = Autoregression(z, std::min(kMostTerms, rows / 10));
  std::vector<double> left(n, std::nan(""));
  for (size_t t = std::max<size_t>(a.size(), 1); t < n; ++t) {
    if (std::isnan(column.value[from + t]) || std::isnan(column.value[from + t - 1])) continue;
    left[t] = z[t];
    for (size_t k = 0; k < a.size(); ++k) left[t] -= a[k] * z[t - 1 - k];
  }
  // What is only rounding is no innovation.
  for (double& v : left) v = std::round(v * 1e9) * 1e-9;
  return ToNormalScores(left);
}

}  // namespace plinth::detect
