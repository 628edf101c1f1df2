#include "plinth/verify/element.h"

#include <strings.h>

#include <array>
#include <cmath>
#include <cstring>

#include "plinth/base/check.h"
#include "plinth/tensor/half.h"

namespace plinth::verify {
const ElementInfo kElementInfo[kElements] = {
    {"f64", "F64", 8, true, 53, 0x1p-53, 0x1p-1022, 0x1.fffffffffffffp1023},
    {"f32", "F32", 4, true, 24, 0x1p-24, 0x1p-126, 0x1.fffffep127},
    {"f16", "F16", 2, true, 11, 0x1p-11, 0x1p-14, 65504},
    {"bf16", "BF16", 2, true, 8, 0x1p-8, 0x1p-126, 0x1.fep127},
    {"i64", "I64", 8, false, 63, 0, 0, 0x1p63},
    {"i32", "I32", 4, false, 31, 0, 0, 0x1p31},
    {"i16", "I16", 2, false, 15, 0, 0, 32767},
    {"i8", "I8", 1, false, 7, 0, 0, 127},
    {"u8", "U8", 1, false, 8, 0, 0, 255},
    {"bool", "BOOL", 1, false, 1, 0, 0, 1},
    {"u16", "U16", 2, false, 16, 0, 0, 65535},
    {"u32", "U32", 4, false, 32, 0, 0, 4294967295.0},
    {"u64", "U64", 8, false, 64, 0, 0, 0x1p64},
    {"f8_e4m3", "F8_E4M3", 1, true, 4, 0x1p-4, 0x1p-6, 448},
    {"f8_e5m2", "F8_E5M2", 1, true, 3, 0x1p-3, 0x1p-14, 57344},
    {"f8_e4m3fnuz", "F8_E4M3FNUZ", 1, true, 4, 0x1p-4, 0x1p-7, 240},
    {"f8_e5m2fnuz", "F8_E5M2FNUZ", 1, true, 3, 0x1p-3, 0x1p-15, 57344},
    {"f8_e8m0", "F8_E8M0", 1, true, 1, 0x1p-1, 0x1p-127, 0x1p127},
};

namespace {

// An 8-bit float with `mantissa` bits of fraction: subnormals below exponent field 1.
double Small(uint8_t bits, int mantissa, int bias) {
  const int fraction = bits & ((1 << mantissa) - 1);
  const int exponent = (bits & 0x7f) >> mantissa;
  const double magnitude = exponent == 0 ? std::ldexp(fraction, 1 - bias - mantissa)
                                         : std::ldexp((1 << mantissa) + fraction, exponent - bias - mantissa);
  return (bits & 0x80) != 0 ? -magnitude : magnitude;
}

double DecodeByte(Element element, uint8_t bits) {
  switch (element) {
    case Element::kF8E4M3:
      return (bits & 0x7f) == 0x7f ? NAN : Small(bits, 3, 7);
    case Element::kF8E5M2:
      if ((bits & 0x7f) > 0x7c) return NAN;
      if ((bits & 0x7f) == 0x7c) return (bits & 0x80) != 0 ? -INFINITY : INFINITY;
      return Small(bits, 2, 15);
    case Element::kF8E4M3Fnuz:
      return bits == 0x80 ? NAN : Small(bits, 3, 8);
    case Element::kF8E5M2Fnuz:
      return bits == 0x80 ? NAN : Small(bits, 2, 16);
    case Element::kF8E8M0:
      return bits == 0xff ? NAN : std::ldexp(1.0, bits - 127);
    case Element::kI8:
      return static_cast<int8_t>(bits);
    case Element::kBool:
      return bits != 0 ? 1 : 0;
    default:
      return bits;
  }
}

template <typename T>
T Load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}
double Number(Half h) { return ToFloat(h); }
double Number(BFloat16 h) { return ToFloat(h); }
template <typename T>
double Number(T value) {
  return static_cast<double>(value);
}

template <typename T>
void ReadAs(const std::byte* data, int64_t count, double* out) {
  for (int64_t i = 0; i < count; ++i) {
    out[i] = Number(Load<T>(data + i * static_cast<int64_t>(sizeof(T))));
  }
}

void ReadBytes(Element element, const std::byte* data, int64_t count, double* out) {
  if (count < 64) {
    for (int64_t i = 0; i < count; ++i) out[i] = DecodeByte(element, static_cast<uint8_t>(data[i]));
    return;
  }
  std::array<double, 256> table{};
  for (size_t bits = 0; bits < 256; ++bits) table[bits] = DecodeByte(element, static_cast<uint8_t>(bits));
  for (int64_t i = 0; i < count; ++i) out[i] = table[static_cast<uint8_t>(data[i])];
}

}  // namespace

std::optional<Element> ElementFromName(std::string_view name) {
  for (int i = 0; i < kElements; ++i) {
    const std::string_view known = kElementInfo[i].name;
    if (name.size() == known.size() && strncasecmp(name.data(), known.data(), known.size()) == 0) {
      return static_cast<Element>(i);
    }
  }
  return std::nullopt;
}

Element ElementOf(const formats::ConstTensorRef& tensor) {
  if (!tensor.stored.empty()) {
    const auto element = ElementFromName(tensor.stored);
    if (element.has_value() && InfoOf(*element).bytes == SizeOf(tensor.dtype)) return *element;
  }
  return static_cast<Element>(tensor.dtype);
}

void ReadValues(Element element, const std::byte* data, int64_t begin, int64_t count, double* out) {
  data += begin * InfoOf(element).bytes;
  switch (element) {
    case Element::kF64:
      return ReadAs<double>(data, count, out);
    case Element::kF32:
      return ReadAs<float>(data, count, out);
    case Element::kF16:
      return ReadAs<Half>(data, count, out);
    case Element::kBF16:
      return ReadAs<BFloat16>(data, count, out);
    case Element::kI64:
      return ReadAs<int64_t>(data, count, out);
    case Element::kI32:
      return ReadAs<int32_t>(data, count, out);
    case Element::kI16:
      return ReadAs<int16_t>(data, count, out);
    case Element::kU16:
      return ReadAs<uint16_t>(data, count, out);
    case Element::kU32:
      return ReadAs<uint32_t>(data, count, out);
    case Element::kU64:
      return ReadAs<uint64_t>(data, count, out);
    default:
      return ReadBytes(element, data, count, out);
  }
}

double ValueAt(Element element, const std::byte* data, int64_t index) {
  double value = 0;
  ReadValues(element, data, index, 1, &value);
  return value;
}

}  // namespace plinth::verify
