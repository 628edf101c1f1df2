#include "plinth/report/chart_scale.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "plinth/base/text.h"
#include "plinth/report/numbers.h"

namespace plinth {
namespace {

struct Step {
  double mantissa;
  int decimals;  // of the mantissa
};
constexpr std::array<Step, 4> kSteps = {{{1, 0}, {2, 0}, {2.5, 1}, {5, 0}}};

double LabelStep(const ChartScale& scale) { return scale.unit * scale.every; }

// Decimals that write every multiple of a round step exactly.
int StepDecimals(double step) {
  const int exponent = static_cast<int>(std::floor(std::log10(step) + 1e-9));
  const double mantissa = step / std::pow(10.0, exponent);
  return std::max(0, (std::abs(mantissa - 2.5) < 1e-6 ? 1 : 0) - exponent);
}

std::string ScientificLabel(double value, double largest, double step) {
  if (value == 0) return "0";
  // Digits after the point that separate neighbours at the largest magnitude of the axis.
  const int digits = static_cast<int>(std::ceil(std::log10(largest / step) + 1e-9));
  std::array<char, 64> buffer;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                 std::chars_format::scientific, std::clamp(digits, 0, 16));
  return std::string(buffer.data(), end.ptr);
}

void Widen(double* low, double* high, int rows) {
  const double size = std::max(std::abs(*low), std::abs(*high));
  // Sixteen values of the double grid per row, so that rows and labels stay distinct.
  const double least = std::max(size * std::numeric_limits<double>::epsilon() * 16 * rows,
                                std::numeric_limits<double>::min() * 1e10);
  if (*high - *low >= least) return;
  const double middle = *low / 2 + *high / 2;
  const double half = size == 0 ? 1 : *low == *high ? std::max(size / 10, least) : least;
  *low = middle - half;
  *high = middle + half;
}

}  // namespace

ChartScale ChooseScale(double low, double high, int rows) {
  // Half of the largest double keeps differences finite.
  constexpr double kLimit = std::numeric_limits<double>::max() / 8;
  low = std::clamp(low, -kLimit, kLimit);
  high = std::clamp(high, -kLimit, kLimit);
  Widen(&low, &high, rows);
  const double least_unit = (high - low) / rows;
  ChartScale best;
  best.unit = std::numeric_limits<double>::infinity();
  const int exponent = static_cast<int>(std::floor(std::log10(least_unit)));
  const int most = std::clamp(rows / 2, 1, 5);
  for (int power = exponent; power <= exponent + 2; ++power) {
    for (const Step& step : kSteps) {
      for (int every = std::min(2, most); every <= most; ++every) {
        const double unit = step.mantissa * std::pow(10.0, power) / every;
        // Ties in the unit go to fewer rows per label.
        if (unit < least_unit || unit >= best.unit * (1 - 1e-9)) continue;
        const double bottom = std::floor(low / unit + 0.5);
        if (std::abs(bottom) > 9e15 || (bottom + rows - 0.5) * unit < high) continue;
        best = {unit, static_cast<int64_t>(bottom), every, rows};
      }
    }
  }
  return best;
}

std::string ScaleLabel(const ChartScale& scale, int row) {
  const double step = LabelStep(scale);
  // The quotient is whole, so this product is the round number to the last bit or next to it.
  const double value = static_cast<double>((scale.bottom + row) / scale.every) * step;
  const double largest = std::max(std::abs(static_cast<double>(scale.bottom)),
                                  std::abs(static_cast<double>(scale.bottom + scale.rows))) *
                         scale.unit;
  if (step < 1e-5 && largest < 1) return ScientificLabel(value, largest, step);
  if (largest >= 1e15) return ScientificLabel(value, largest, step);
  if (step >= 1e3 && largest >= 1e5) {
    struct Prefix {
      double scale;
      std::string_view name;
    };
    static constexpr std::array<Prefix, 4> kPrefixes = {{{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}}};
    for (const Prefix& prefix : kPrefixes) {
      if (largest < prefix.scale * 2 && prefix.scale > 1e3) continue;
      if (value == 0) return "0";
      return StrCat(FixedNumber(value / prefix.scale, StepDecimals(step / prefix.scale)), prefix.name);
    }
  }
  return FixedNumber(value, StepDecimals(step));
}

}  // namespace plinth
