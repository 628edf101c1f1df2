// Converts between float and the two 16-bit formats, rounding to nearest, ties to even.
#pragma once

#include <bit>
#include <cstdint>

namespace plinth {

// IEEE 754 binary16. Subnormals, infinities and NaN are kept; a NaN stays quiet and keeps its sign.
struct Half {
  uint16_t bits;
};
// The upper half of a float.
struct BFloat16 {
  uint16_t bits;
};

inline float ToFloat(BFloat16 h) { return std::bit_cast<float>(static_cast<uint32_t>(h.bits) << 16); }

inline BFloat16 ToBFloat16(float f) {
  const uint32_t u = std::bit_cast<uint32_t>(f);
  if ((u & 0x7fffffffu) > 0x7f800000u) return {static_cast<uint16_t>((u >> 16) | 0x40u)};
  return {static_cast<uint16_t>((u + 0x7fffu + ((u >> 16) & 1u)) >> 16)};
}

inline float ToFloat(Half h) {
  const uint32_t sign = static_cast<uint32_t>(h.bits & 0x8000u) << 16;
  const uint32_t rest = h.bits & 0x7fffu;
  if (rest >= 0x7c00u) return std::bit_cast<float>(sign | 0x7f800000u | ((rest & 0x3ffu) << 13));
  if (rest >= 0x400u) return std::bit_cast<float>(sign | ((rest << 13) + ((127u - 15u) << 23)));
  // A subnormal half is rest * 2^-24, which a float holds exactly.
  const float magnitude = static_cast<float>(rest) * 0x1p-24f;
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(magnitude));
}

inline Half ToHalf(float f) {
  const uint32_t u = std::bit_cast<uint32_t>(f);
  const uint32_t sign = (u >> 16) & 0x8000u;
  const uint32_t a = u & 0x7fffffffu;
  if (a > 0x7f800000u) return {static_cast<uint16_t>(sign | 0x7e00u | ((a >> 13) & 0x1ffu))};
  if (a >= 0x477ff000u) return {static_cast<uint16_t>(sign | 0x7c00u)};  // rounds to infinity
  if (a >= 0x38800000u) {
    const uint32_t r = a - 0x38000000u;  // rebias the exponent
    return {static_cast<uint16_t>(sign | ((r + 0xfffu + ((r >> 13) & 1u)) >> 13))};
  }
  // Adding 0.5 lets the float adder round to a multiple of 2^-24.
  const float sum = std::bit_cast<float>(a) + 0.5f;
  return {static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(sum) - 0x3f000000u))};
}

}  // namespace plinth
