// The types whose full blocks go through registers as they are: bits, order and values.
#pragma once

#include "plinth/verify/difference_vector.h"

namespace plinth::verify::PLINTH_KERNEL_LEVEL {

// Bits gives elements as words; Order turns words into floats in units of kOrderUnit whose order and first
// normal number are the type's; Values gives doubles, any finite number for what is not finite unless
// kKeepsInfinity. Products of two values are exact in double.
struct F32 {
  static constexpr int kBytes = 4;
  static constexpr int kSign = 31;
  static constexpr uint32_t kInfinity = 0x7f800000, kNormal = 0x00800000;
  static constexpr bool kKeepsInfinity = true;  // of Values
  static constexpr double kOrderUnit = 1;
  static PLINTH_INLINE Words Bits(const std::byte* p) { return Load<Words>(p); }
  static PLINTH_INLINE Floats Order(Words bits) { return As<Floats>(bits); }
  static PLINTH_INLINE Reals Values(const std::byte* p) { return Widen(Load<HalfFloats>(p)); }
  static double Value(uint32_t bits) {
    float f;
    __builtin_memcpy(&f, &bits, 4);
    return f;
  }
};
struct BF16 {
  static constexpr int kBytes = 2;
  static constexpr int kSign = 15;
  static constexpr uint32_t kInfinity = 0x7f80, kNormal = 0x0080;
  static constexpr bool kKeepsInfinity = true;
  static constexpr double kOrderUnit = 1;
  static PLINTH_INLINE Words Bits(const std::byte* p) {
    return __builtin_convertvector(Load<HalfShorts>(p), Words);
  }
  static PLINTH_INLINE Floats Order(Words bits) { return As<Floats>(bits << 16); }
  static PLINTH_INLINE Reals Values(const std::byte* p) {
    const HalfWords wide = __builtin_convertvector(Load<QuarterShorts>(p), HalfWords) << 16;
    return Widen(As<HalfFloats>(wide));
  }
  static double Value(uint32_t bits) { return F32::Value(bits << 16); }
};
struct F16 {
  static constexpr int kBytes = 2;
  static constexpr int kSign = 15;
  static constexpr uint32_t kInfinity = 0x7c00, kNormal = 0x0400;
  static constexpr bool kKeepsInfinity = false;
  static constexpr double kOrderUnit = 0x1p112;
  static PLINTH_INLINE Words Bits(const std::byte* p) { return BF16::Bits(p); }
  static PLINTH_INLINE Floats Order(Words bits) {
    return As<Floats>((bits & 0x8000) << 16 | (bits & 0x7fff) << 13);
  }
  static PLINTH_INLINE Reals Values(const std::byte* p) {
    const HalfWords h = __builtin_convertvector(Load<QuarterShorts>(p), HalfWords);
    // Exponent and fraction in a float's places are the number times 2^-112, subnormals included.
    const HalfWords bits = (h & 0x8000) << 16 | (h & 0x7fff) << 13;
    return Widen(As<HalfFloats>(bits)) * 0x1p112;
  }
  static double Value(uint32_t h) { return F32::Value((h & 0x8000) << 16 | (h & 0x7fff) << 13) * 0x1p112; }
};

}  // namespace plinth::verify::PLINTH_KERNEL_LEVEL
