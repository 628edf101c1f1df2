#include "plinth/detect/column.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "plinth/detect/fourier.h"

namespace plinth::detect {
namespace {

// Fills gaps (NaN) by straight lines between known values, and the ends with the nearest one.
void Bridge(std::vector<double>& z) {
  const size_t n = z.size();
  size_t next = 0;  // the first known row that is not dealt with yet
  while (next < n && std::isnan(z[next])) ++next;
  if (next == n) return std::fill(z.begin(), z.end(), 0.0);
  std::fill(z.begin(), z.begin() + static_cast<std::ptrdiff_t>(next), z[next]);
  for (size_t last = next; last + 1 < n; last = next) {
    next = last + 1;
    while (next < n && std::isnan(z[next])) ++next;
    const double step = next == n ? 0 : (z[next] - z[last]) / static_cast<double>(next - last);
    for (size_t k = last + 1; k < next; ++k) z[k] = z[last] + step * static_cast<double>(k - last);
  }
}

// Lets gaps hold the last value, for at most kMostHold rows; then they are the middle.
void Hold(std::vector<double>& z) {
  double last = 0;
  int64_t age = kMostHold;
  for (double& v : z) {
    ++age;
    if (!std::isnan(v)) {
      last = v, age = 0;
    } else {
      v = age <= kMostHold ? last : 0;
    }
  }
}

constexpr size_t kSpikeRows = 5;
constexpr double kSpike = 5;  // usual steps

double MiddleOfFive(const std::vector<double>& z, size_t begin) {
  std::array<double, kSpikeRows> near;
  std::copy_n(z.begin() + static_cast<std::ptrdiff_t>(begin), kSpikeRows, near.begin());
  std::nth_element(near.begin(), near.begin() + 2, near.end());
  return near[2];
}

double UsualStep(const std::vector<double>& z, size_t learn) {
  std::vector<double> steps;
  for (size_t t = 1; t < learn; ++t) steps.push_back(z[t] - z[t - 1]);
  return SpreadOf(steps).scale;
}

// Hampel's filter over five rows. What is usual are the steps from row to row: the distance to the median is
// 0 wherever a smooth column rises or falls, and its spread would say nothing.
std::vector<double> WithoutSpikes(const std::vector<double>& z, double usual) {
  std::vector<double> calm = z;
  for (size_t t = 2; t + 2 < z.size(); ++t) {
    const double middle = MiddleOfFive(z, t - 2);
    if (std::fabs(z[t] - middle) > kSpike * usual) calm[t] = middle;
  }
  return calm;
}

std::vector<double> Finite(std::span<const double> values) {
  std::vector<double> finite(values.begin(), values.end());
  for (double& v : finite) {
    if (!std::isfinite(v)) v = std::numeric_limits<double>::quiet_NaN();
  }
  return finite;
}

// Counts gaps and makes z, in which they still are.
void Measure(Column* column) {
  const size_t n = column->value.size();
  column->gaps.assign(n + 1, 0);
  column->z.resize(n);
  for (size_t t = 0; t < n; ++t) {
    const double v = column->value[t];
    column->gaps[t + 1] = column->gaps[t] + (std::isnan(v) ? 1 : 0);
    const double z = (v - column->spread.middle) / column->spread.scale;
    column->z[t] = std::isnan(v) ? v : std::clamp(z, -kMostZ, kMostZ);
  }
}

// In spreads from the middle, at most five.
std::vector<double> Cut(std::span<const double> z) {
  const Spread spread = SpreadOf(z);
  std::vector<double> cut(z.begin(), z.end());
  for (double& v : cut) v = std::clamp((v - spread.middle) / spread.scale, -5.0, 5.0);
  return cut;
}

// Takes the least-squares line off.
std::vector<double> WithoutTrend(std::span<const double> z) {
  const double n = static_cast<double>(z.size());
  double mean = 0, slope = 0, width = 0;
  for (const double v : z) mean += v / n;
  for (size_t t = 0; t < z.size(); ++t) {
    const double at = static_cast<double>(t) - (n - 1) / 2;
    slope += at * (z[t] - mean);
    width += at * at;
  }
  slope = width > 0 ? slope / width : 0;
  std::vector<double> rest(z.size());
  for (size_t t = 0; t < z.size(); ++t)
    rest[t] = z[t] - mean - slope * (static_cast<double>(t) - (n - 1) / 2);
  return rest;
}

}  // namespace

Column MakeColumn(std::span<const double> values, int64_t learn) {
  Column column;
  column.value = Finite(values);
  column.spread = SpreadOf(std::span(column.value).first(static_cast<size_t>(learn)));
  Measure(&column);
  Bridge(column.z);
  column.calm = WithoutSpikes(column.z, UsualStep(column.z, static_cast<size_t>(learn)));
  return column;
}

ColumnScale LearnScale(std::span<const double> normal) {
  Column column;
  column.value = Finite(normal);
  column.spread = SpreadOf(column.value);
  Measure(&column);
  Hold(column.z);
  return {column.spread, UsualStep(column.z, normal.size())};
}

Column MakeStreamColumn(std::span<const double> values, const ColumnScale& scale) {
  Column column;
  column.value = Finite(values);
  column.spread = scale.spread;
  Measure(&column);
  Hold(column.z);
  column.calm = WithoutSpikes(column.z, scale.step);
  return column;
}

int64_t PeriodOf(const Column& column, int64_t rows, int64_t most) {
  constexpr int64_t kLeast = 4;
  constexpr double kStrong = 0.3, kDip = 0.15, kAlmost = 0.9;
  most = std::min(most, rows / 3);
  if (most <= kLeast) return 0;
  // Wild values must neither tilt the line nor hide a cycle.
  std::vector<double> z = WithoutTrend(Cut(std::span(column.calm).first(static_cast<size_t>(rows))));
  z = Cut(z);
  const std::vector<double> sums = Autocorrelation(z, most);
  if (!(sums[0] > 0)) return 0;
  const double n = static_cast<double>(z.size());
  // Of the mean product at each lag, so that long lags are not put back.
  const auto r = [&](int64_t lag) {
    return sums[static_cast<size_t>(lag)] / (n - static_cast<double>(lag)) / (sums[0] / n);
  };
  std::vector<int64_t> peaks;
  double highest = kStrong, lowest = 1;
  for (int64_t lag = 1; lag < most; ++lag) {
    lowest = std::min(lowest, r(lag));
    // A bump on the slow decline of what has no cycle is no peak.
    if (lag < kLeast || r(lag) < std::max(kStrong, lowest + kDip)) continue;
    if (r(lag) <= r(lag - 1) || r(lag) < r(lag + 1)) continue;
    peaks.push_back(lag);
    highest = std::max(highest, r(lag));
  }
  for (const int64_t lag : peaks) {
    if (r(lag) >= kAlmost * highest) return lag;
  }
  return 0;
}

}  // namespace plinth::detect
