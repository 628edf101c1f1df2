#include "plinth/verify/replay/number_format.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "plinth/ops/checks.h"
#include "plinth/tensor/half.h"

namespace plinth::verify::replay {
namespace {

constexpr double kF32Max = 0x1.fffffep127;

constexpr std::array<NumberFormat, 15> kFormats = {{
    {"f64", DType::kF64, true, false, 52, -1022, std::numeric_limits<double>::max()},
    {"f32", DType::kF32, true, false, 23, -126, kF32Max},
    {"f16", DType::kF16, true, false, 10, -14, 65504.0},
    {"bf16", DType::kBF16, true, false, 7, -126, 0x1.fep127},
    {"i64", DType::kI64, false, false, 0, 0, 0x1p63},
    {"i32", DType::kI32, false, false, 0, 0, 0x1p31 - 1},
    {"i16", DType::kI16, false, false, 0, 0, 32767},
    {"i8", DType::kI8, false, false, 0, 0, 127},
    {"u8", DType::kU8, false, false, 0, 0, 255},
    {"bool", DType::kBool, false, false, 0, 0, 1},
    {"f8_e4m3", DType::kU8, true, true, 3, -6, 448, NanCodes::kLastCode},
    {"f8_e4m3fn", DType::kU8, true, true, 3, -6, 448, NanCodes::kLastCode},
    {"f8_e5m2", DType::kU8, true, true, 2, -14, 57344, NanCodes::kIeee},
    {"f8_e4m3fnuz", DType::kU8, true, true, 3, -7, 240, NanCodes::kNegZero},
    {"f8_e5m2fnuz", DType::kU8, true, true, 2, -15, 57344, NanCodes::kNegZero},
}};

template <typename T>
T Load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}

double Overflow(const NumberFormat& format, double sign) {
  return format.nan == NanCodes::kIeee ? std::copysign(INFINITY, sign) : NAN;
}

// Rounds to a multiple of the unit in the last place. Scaling by a power of two is exact, so that one
// rounding happens; for f64 the scaling is done in the wider type.
template <typename T>
double RoundFloating(const NumberFormat& format, T value) {
  const auto size = static_cast<double>(std::abs(value));
  if (std::isnan(size)) return NAN;
  if (std::isinf(size) && std::isinf(value)) return Overflow(format, value < 0 ? -1 : 1);
  if (value == 0) return format.nan == NanCodes::kNegZero ? 0.0 : static_cast<double>(value);
  const int exponent = std::max(std::ilogb(value), format.lowest);
  const int shift = format.fraction - exponent;
  const T rounded = std::scalbn(std::nearbyint(std::scalbn(value, shift)), -shift);
  const auto result = static_cast<double>(rounded);
  if (std::abs(result) > format.largest) return Overflow(format, result);
  if (result == 0 && format.nan == NanCodes::kNegZero) return 0.0;
  return std::copysign(result, static_cast<double>(value));
}

}  // namespace

double NumberFormat::roundoff() const { return floating ? std::ldexp(1.0, -fraction - 1) : 0; }
double NumberFormat::smallest_normal() const { return floating ? std::ldexp(1.0, lowest) : 0; }

const NumberFormat* FindFormat(std::string_view name) {
  for (const NumberFormat& f : kFormats) {
    if (f.name == name) return &f;
  }
  return nullptr;
}

const NumberFormat& FormatOf(DType dtype) {
  for (const NumberFormat& f : kFormats) {
    if (f.storage == dtype && !f.eight_bits) return f;
  }
  return kFormats[1];
}

double UlpOf(const NumberFormat& format, double value) {
  if (!format.floating) return 1;
  if (!std::isfinite(value)) return 0;
  const int exponent = value == 0 ? format.lowest : std::max(std::ilogb(value), format.lowest);
  return std::ldexp(1.0, exponent - format.fraction);
}

double RoundTo(const NumberFormat& format, double value) {
  if (format.floating) {
    if (format.storage == DType::kF64) return value;
    if (format.storage == DType::kF32) return static_cast<double>(static_cast<float>(value));
    return RoundFloating(format, value);
  }
  return ops::RoundTo(format.storage, value);
}

double RoundTo(const NumberFormat& format, long double value) {
  if (format.storage == DType::kF64) return static_cast<double>(value);
  if (format.floating) return RoundFloating(format, value);
  return ops::RoundTo(format.storage, static_cast<double>(value));
}

double DecodeEight(const NumberFormat& format, uint8_t code) {
  const double sign = (code & 0x80) != 0 ? -1 : 1;
  const int magnitude = code & 0x7f;
  if (format.nan == NanCodes::kNegZero && code == 0x80) return NAN;
  if (format.nan == NanCodes::kLastCode && magnitude == 0x7f) return NAN;
  const int exponent = magnitude >> format.fraction;
  const int fraction = magnitude & ((1 << format.fraction) - 1);
  if (format.nan == NanCodes::kIeee && exponent == (0x7f >> format.fraction)) {
    return fraction == 0 ? sign * INFINITY : NAN;
  }
  if (exponent == 0) return sign * std::ldexp(fraction, format.lowest - format.fraction);
  return sign * std::ldexp(fraction + (1 << format.fraction), format.lowest + exponent - 1 - format.fraction);
}

double LoadNumber(const NumberFormat& format, const std::byte* at) {
  switch (format.storage) {
    case DType::kF64:
      return Load<double>(at);
    case DType::kF32:
      return static_cast<double>(Load<float>(at));
    case DType::kF16:
      return static_cast<double>(ToFloat(Load<Half>(at)));
    case DType::kBF16:
      return static_cast<double>(ToFloat(Load<BFloat16>(at)));
    default:
      if (format.eight_bits) return DecodeEight(format, Load<uint8_t>(at));
      return static_cast<double>(LoadInteger(format, at));
  }
}

int64_t LoadInteger(const NumberFormat& format, const std::byte* at) {
  switch (format.storage) {
    case DType::kI64:
      return Load<int64_t>(at);
    case DType::kI32:
      return Load<int32_t>(at);
    case DType::kI16:
      return Load<int16_t>(at);
    case DType::kI8:
      return Load<int8_t>(at);
    case DType::kBool:
      return Load<uint8_t>(at) != 0 ? 1 : 0;
    default:
      return Load<uint8_t>(at);
  }
}

}  // namespace plinth::verify::replay
