#include "plinth/verify/fingerprint.h"

#include <bit>
#include <cmath>

namespace plinth::verify {
namespace {

struct Grid {
  ValueGrid grid;
  int digits;  // of the significand
  double smallest_normal, largest;
};
// Narrow ones first.
constexpr Grid kGrids[] = {
    {ValueGrid::kF8E5M2, 3, 0x1p-14, 57344},       {ValueGrid::kF8E4M3, 4, 0x1p-6, 448},
    {ValueGrid::kBF16, 8, 0x1p-126, 0x1.fep127},   {ValueGrid::kF16, 11, 0x1p-14, 65504},
    {ValueGrid::kTf32, 11, 0x1p-126, 0x1.ffcp127},
};

// Whether the grid holds x, and whether x has the last bit of its significand set there.
bool Holds(const Grid& grid, double x, bool* last_bit) {
  const double magnitude = std::abs(x);
  if (magnitude > grid.largest) return false;
  const int exponent = std::max(std::ilogb(magnitude), std::ilogb(grid.smallest_normal));
  const double steps = std::ldexp(magnitude, grid.digits - 1 - exponent);
  if (steps != std::floor(steps)) return false;
  *last_bit = std::fmod(steps, 2) == 1;
  return true;
}

}  // namespace

std::string_view LevelName(ArithmeticLevel level) {
  constexpr std::string_view kNames[] = {"exact", "f64", "f32", "tf32 or f16", "bf16", "fp8", "wrong"};
  return kNames[static_cast<int>(level)];
}

ArithmeticLevel LevelOfError(double rel_l2) {
  if (rel_l2 == 0) return ArithmeticLevel::kExact;
  // Geometric means of the figures on either side, rounded; that of f32 leaves room for long sums.
  if (rel_l2 < 1e-11) return ArithmeticLevel::kF64;
  if (rel_l2 < 2e-5) return ArithmeticLevel::kF32;
  if (rel_l2 < 8e-4) return ArithmeticLevel::kTf32OrF16;
  if (rel_l2 < 8e-3) return ArithmeticLevel::kBF16;
  if (rel_l2 < 0.12) return ArithmeticLevel::kFp8;
  return ArithmeticLevel::kWrong;
}

ArithmeticLevel LevelOfElement(Element element) {
  const ElementInfo& info = InfoOf(element);
  if (!info.floating) return ArithmeticLevel::kExact;
  if (info.digits == 53) return ArithmeticLevel::kF64;
  if (info.digits == 24) return ArithmeticLevel::kF32;
  if (info.digits == 11) return ArithmeticLevel::kTf32OrF16;
  return info.digits == 8 ? ArithmeticLevel::kBF16 : ArithmeticLevel::kFp8;
}

std::string_view GridName(ValueGrid grid) {
  constexpr std::string_view kNames[] = {"tf32", "f16", "bf16", "f8_e4m3", "f8_e5m2"};
  return kNames[static_cast<int>(grid)];
}

std::optional<ValueGrid> GridOf(const formats::ConstTensorRef& tensor) {
  constexpr int64_t kLooked = 1 << 16, kFewest = 32;
  const Element element = ElementOf(tensor);
  const ElementInfo& info = InfoOf(element);
  const int64_t count = tensor.size();
  if (!info.floating || count < kFewest) return std::nullopt;
  const int64_t step = std::max<int64_t>(1, count / kLooked);
  std::vector<double> values;
  for (int64_t i = 0; i < count; i += step) {
    const double x = ValueAt(element, tensor.data, i);
    if (x != 0 && std::isfinite(x)) values.push_back(x);
  }
  if (static_cast<int64_t>(values.size()) < kFewest) return std::nullopt;
  for (const Grid& grid : kGrids) {
    if (grid.digits >= info.digits) continue;
    size_t last_bits = 0, held = 0;
    for (const double x : values) {
      bool last_bit = false;
      if (!Holds(grid, x, &last_bit)) break;
      ++held;
      last_bits += last_bit ? 1 : 0;
    }
    if (held == values.size() && last_bits * 10 >= held) return grid.grid;
  }
  return std::nullopt;
}

}  // namespace plinth::verify
