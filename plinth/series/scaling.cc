#include "plinth/series/scaling.h"

#include <algorithm>
#include <cmath>

#include "plinth/base/check.h"

namespace plinth::series {
namespace {

// Adds up with the rounding error of every step kept beside the sum (Knuth's two-sum), so that the result
// is right to the last bit or two whatever the length.
class Sum {
 public:
  void Add(double x) {
    const double next = sum_ + x;
    const double part = next - sum_;
    lost_ += (sum_ - (next - part)) + (x - part);
    sum_ = next;
  }
  double value() const { return sum_ + lost_; }

 private:
  double sum_ = 0, lost_ = 0;
};

// A power of two that brings `top`, the largest magnitude, to where neither sums nor squares leave the
// range of double; 1 for ordinary data.
double SafeFactor(double top) {
  if (top == 0 || (top > 0x1p-400 && top < 0x1p400)) return 1;
  return std::ldexp(1.0, std::clamp(-std::ilogb(top), -1022, 1022));
}

double LargestFinite(std::span<const double> y) {
  double top = 0;
  for (double v : y) {
    if (std::isfinite(v)) top = std::max(top, std::abs(v));
  }
  return top;
}

}  // namespace

Scale MeanStd(std::span<const double> y, double floor_relative) {
  const double factor = SafeFactor(LargestFinite(y));
  Sum sum;
  int64_t n = 0;
  for (double v : y) {
    if (!std::isfinite(v)) continue;
    sum.Add(v * factor);
    ++n;
  }
  if (n == 0) return {};
  const double loc = sum.value() / static_cast<double>(n);
  Sum squares;
  for (double v : y) {
    if (!std::isfinite(v)) continue;
    const double d = v * factor - loc;
    squares.Add(d * d);
  }
  const double scale = std::sqrt(squares.value() / static_cast<double>(n));
  return {loc / factor, scale > floor_relative * std::abs(loc) ? scale / factor : 1.0};
}

void Standardise(std::span<const double> y, const Scale& scale, std::span<double> z,
                 std::span<uint8_t> observed) {
  PLINTH_CHECK_EQ(y.size(), z.size());
  PLINTH_CHECK_EQ(y.size(), observed.size());
  // Differences of the largest numbers would overflow; halves of them cannot.
  const double half = std::abs(scale.loc) > 0x1p1000 || scale.scale > 0x1p1000 ? 0.5 : 1.0;
  for (size_t i = 0; i < y.size(); ++i) {
    const bool finite = std::isfinite(y[i]);
    observed[i] = finite ? 1 : 0;
    z[i] = finite ? (y[i] * half - scale.loc * half) / (scale.scale * half) : 0.0;
  }
}

}  // namespace plinth::series
