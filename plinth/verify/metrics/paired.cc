#include "plinth/verify/metrics/paired.h"

#include <algorithm>
#include <cmath>

namespace plinth::verify::metrics {
namespace {

// Tango's statistic for the hypothesis that the difference is `theta`; falls as theta grows.
double TangoStatistic(double b, double c, double n, double theta) {
  const double quadratic = 2 * n, linear = -b - c + (2 * n - b + c) * theta,
               constant = -c * theta * (1 - theta);
  const double root = std::sqrt(std::max(0.0, linear * linear - 4 * quadratic * constant));
  // The share of "only the second is right" under the hypothesis, the larger root; in the form that does not
  // cancel.
  const double q = linear <= 0 ? (root - linear) / (2 * quadratic) : -2 * constant / (root + linear);
  const double variance = n * (2 * std::max(q, 0.0) + theta * (1 - theta));
  const double distance = b - c - n * theta;
  if (variance <= 0) return distance == 0 ? 0 : distance > 0 ? INFINITY : -INFINITY;
  return distance / std::sqrt(variance);
}

// The continued fraction of the incomplete beta function (Lentz's method).
double BetaFraction(double a, double b, double x) {
  constexpr double kTiny = 1e-300;
  const auto away = [](double v) { return std::abs(v) < kTiny ? kTiny : v; };
  double c = 1, d = 1 / away(1 - (a + b) * x / (a + 1)), h = d;
  for (int m = 1; m <= 10000; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / away(1 + even * d);
    c = away(1 + even / c);
    h *= d * c;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / away(1 + odd * d);
    c = away(1 + odd / c);
    h *= d * c;
    if (std::abs(d * c - 1) < 1e-15) break;
  }
  return h;
}

// The regularised incomplete beta function I_x(a, b).
double IncompleteBeta(double a, double b, double x) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const double front =
      std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) + a * std::log(x) + b * std::log1p(-x));
  if (x < (a + 1) / (a + b + 2)) return front * BetaFraction(a, b, x) / a;
  return 1 - front * BetaFraction(b, a, 1 - x) / b;
}

// Probability that Student's t exceeds t >= 0.
double StudentTail(double t, double degrees) {
  return IncompleteBeta(degrees / 2, 0.5, degrees / (degrees + t * t)) / 2;
}

}  // namespace

Interval WilsonInterval(double k, double n, double z) {
  const double p = k / n, square = z * z;
  const double center = (p + square / (2 * n)) / (1 + square / n);
  const double half = z / (1 + square / n) * std::sqrt(p * (1 - p) / n + square / (4 * n * n));
  return {k == 0 ? 0 : std::max(0.0, center - half), k == n ? 1 : std::min(1.0, center + half)};
}

Interval TangoInterval(double b, double c, double n, double z) {
  const double middle = (b - c) / n;
  const auto bound = [&](double outer, double wanted) {
    double inside = middle, outside = outer;
    for (int i = 0; i < 200; ++i) {
      const double theta = (inside + outside) / 2;
      const double statistic = TangoStatistic(b, c, n, theta);
      const bool within = wanted > 0 ? statistic < wanted : statistic > wanted;
      (within ? inside : outside) = theta;
    }
    return inside;
  };
  return {middle <= -1 ? -1 : bound(-1, z), middle >= 1 ? 1 : bound(1, -z)};
}

double McNemarExact(int64_t b, int64_t c) {
  const int64_t n = b + c, least = std::min(b, c);
  if (n == 0 || b == c) return 1;
  // P(X <= least), X binomial with n trials of 1/2.
  return std::min(1.0,
                  2 * IncompleteBeta(static_cast<double>(n - least), static_cast<double>(least) + 1, 0.5));
}

double StudentQuantile(double p, double degrees) {
  if (p == 0.5) return 0;
  const double tail = std::min(p, 1 - p);
  double low = 0, high = 1;
  while (StudentTail(high, degrees) > tail && high < 1e300) high *= 2;
  for (int i = 0; i < 200 && low < high; ++i) {
    const double middle = low + (high - low) / 2;
    if (middle == low || middle == high) break;
    (StudentTail(middle, degrees) > tail ? low : high) = middle;
  }
  return p < 0.5 ? -low : low;
}

Interval ExpandedPercentile(std::span<const double> draws, int64_t n) {
  const auto size = static_cast<double>(n);
  const double stretched = n < 2 ? 40 : std::sqrt(size / (size - 1)) * StudentQuantile(0.975, size - 1);
  const double tail = std::erfc(stretched / std::sqrt(2.0)) / 2;
  // Linear between order statistics.
  const auto quantile = [&](double p) {
    const double at = p * static_cast<double>(draws.size() - 1);
    const auto below = static_cast<size_t>(at);
    const size_t above = std::min(below + 1, draws.size() - 1);
    return draws[below] + (at - static_cast<double>(below)) * (draws[above] - draws[below]);
  };
  return {quantile(tail), quantile(1 - tail)};
}

}  // namespace plinth::verify::metrics
