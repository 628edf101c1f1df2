// Describes the number formats that captures hold, 8-bit floats included, and rounds to them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "plinth/tensor/dtype.h"

namespace plinth::verify::replay {

// How an 8-bit float uses its codes; others follow their type.
enum class NanCodes : uint8_t {
  kIeee,      // infinities, and NaN above them (f8_e5m2)
  kLastCode,  // no infinity; all bits set is NaN (f8_e4m3, the "fn" encoding)
  kNegZero,   // no infinity, one zero; the code of -0 is NaN ("fnuz")
};

// An element type of a capture by its name in lower case.
struct NumberFormat {
  std::string_view name;
  DType storage = DType::kF32;  // what the bytes are; u8 for 8-bit floats
  bool floating = false;
  bool eight_bits = false;  // an 8-bit float
  int fraction = 0;         // stored fraction bits
  int lowest = 0;           // exponent of the smallest normal number
  double largest = 0;       // largest finite number; integers: the end of their range
  NanCodes nan = NanCodes::kIeee;

  // Unit roundoff: half a unit in the last place of 1. 0 for integers.
  double roundoff() const;
  double smallest_normal() const;
};

// "f64" ... "bool", "f8_e4m3", "f8_e5m2", "f8_e4m3fnuz", "f8_e5m2fnuz" (also with "fn" behind e4m3); null for
// another name.
const NumberFormat* FindFormat(std::string_view name);
const NumberFormat& FormatOf(DType dtype);

// One unit in the last place at |value|, never less than the smallest subnormal; 1 for integers, 0 where
// value is not finite.
double UlpOf(const NumberFormat& format, double value);

// `value` rounded once, to nearest, ties to even. What is too large becomes infinity, or NaN where the format
// has none; integers clamp, NaN becomes 0 there.
double RoundTo(const NumberFormat& format, double value);
// The same from a wider number, so that f64 is rounded once too.
double RoundTo(const NumberFormat& format, long double value);

// The value of an 8-bit float's code.
double DecodeEight(const NumberFormat& format, uint8_t code);
// The element at `at` (any alignment) as double; integers beyond 2^53 lose their last bits.
double LoadNumber(const NumberFormat& format, const std::byte* at);
// The integer or boolean at `at`, exactly.
int64_t LoadInteger(const NumberFormat& format, const std::byte* at);

}  // namespace plinth::verify::replay
