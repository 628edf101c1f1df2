#include "plinth/ops/checks.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "plinth/ops/attention/checks.h"
#include "plinth/ops/binary/checks.h"
#include "plinth/ops/cast/checks.h"
#include "plinth/ops/concat/checks.h"
#include "plinth/ops/cumsum/checks.h"
#include "plinth/ops/gather/checks.h"
#include "plinth/ops/layer_norm/checks.h"
#include "plinth/ops/linear/checks.h"
#include "plinth/ops/matmul/checks.h"
#include "plinth/ops/pad/checks.h"
#include "plinth/ops/permute/checks.h"
#include "plinth/ops/reduce/checks.h"
#include "plinth/ops/reshape/checks.h"
#include "plinth/ops/rms_norm/checks.h"
#include "plinth/ops/rotary/checks.h"
#include "plinth/ops/slice/checks.h"
#include "plinth/ops/softmax/checks.h"
#include "plinth/ops/sort/checks.h"
#include "plinth/ops/top_k/checks.h"
#include "plinth/ops/unary/checks.h"

namespace plinth::ops {

const std::vector<const OpChecks*>& AllChecks() {
  // One operator a line, so that changes beside each other merge.
  // clang-format off
  static const std::vector<const OpChecks*> checks = {
      &AttentionChecks(),
      &BinaryChecks(),
      &CastChecks(),
      &ConcatChecks(),
      &CumsumChecks(),
      &GatherChecks(),
      &LayerNormChecks(),
      &LinearChecks(),
      &MatmulChecks(),
      &PadChecks(),
      &PermuteChecks(),
      &ReduceChecks(),
      &ReshapeChecks(),
      &RmsNormChecks(),
      &RotaryChecks(),
      &SliceChecks(),
      &SoftmaxChecks(),
      &SortChecks(),
      &TopKChecks(),
      &UnaryChecks(),
  };
  // clang-format on
  return checks;
}

const OpChecks* FindChecks(std::string_view op) {
  for (const OpChecks* c : AllChecks()) {
    if (op == c->spec->name) return c;
  }
  return nullptr;
}

const std::vector<int64_t>& OddSizes() {
  static const std::vector<int64_t> sizes = {0, 1, 2, 15, 16, 17, 31, 32, 33, 63, 64, 65};
  return sizes;
}

namespace {

// A binary floating-point format: stored fraction bits, exponent of the smallest normal number, and the
// largest finite number.
struct Format {
  int fraction;
  int lowest;
  double largest;
};

Format FormatOf(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return {52, -1022, std::numeric_limits<double>::max()};
    case DType::kF16:
      return {10, -14, 65504.0};
    case DType::kBF16:
      return {7, -126, 0x1.fep127};
    default:
      return {23, -126, static_cast<double>(std::numeric_limits<float>::max())};
  }
}

// The range of an integer type; that of i64 ends at the largest double below 2^63.
std::pair<double, double> RangeOf(DType dtype) {
  switch (dtype) {
    case DType::kI64:
      return {-0x1p63, std::nextafter(0x1p63, 0.0)};
    case DType::kI32:
      return {-0x1p31, 0x1p31 - 1};
    case DType::kI16:
      return {-32768, 32767};
    case DType::kI8:
      return {-128, 127};
    default:
      return {0, 255};
  }
}

}  // namespace

double Ulp(DType dtype, double value) {
  if (!IsFloat(dtype)) return 1;
  if (!std::isfinite(value)) return 0;
  const Format f = FormatOf(dtype);
  const int exponent = value == 0 ? f.lowest : std::max(std::ilogb(value), f.lowest);
  return std::ldexp(1.0, exponent - f.fraction);
}

double RoundTo(DType dtype, double value) {
  if (dtype == DType::kBool) return value != 0 ? 1 : 0;
  if (!IsFloat(dtype)) {
    const auto [low, high] = RangeOf(dtype);
    return std::isnan(value) ? 0 : std::clamp(std::nearbyint(value), low, high);
  }
  if (!std::isfinite(value) || dtype == DType::kF64) return value;
  if (dtype == DType::kF32) return static_cast<double>(static_cast<float>(value));
  // Scaling by a power of two is exact, so that one rounding happens, here.
  const double ulp = Ulp(dtype, value);
  const double rounded = std::nearbyint(value / ulp) * ulp;
  if (std::abs(rounded) > FormatOf(dtype).largest) return std::copysign(INFINITY, value);
  return std::copysign(rounded, value);
}

std::vector<double> UlpLimit(const RefTensor& ref, double ulps, DType dtype) {
  std::vector<double> limit(ref.data.size());
  for (size_t i = 0; i < limit.size(); ++i) limit[i] = ulps * Ulp(dtype, ref.data[i]);
  return limit;
}

}  // namespace plinth::ops
