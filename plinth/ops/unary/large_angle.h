// Computes sine and cosine of angles of any size.
#pragma once

#include "plinth/ops/vector_math.h"

namespace plinth::ops::PLINTH_KERNEL_LEVEL {

// Up to here SinCos of vector_math.h holds its relative accuracy.
inline constexpr float kLargeAngle = 0x1p20f;

// sin (cosine: cos) of a finite x with |x| > kLargeAngle, within 2 ULP.
// Method: Payne and Hanek (1983). With x = m 2^e, m an integer of 24 bits, those bits of 2/pi that are
// neither multiples of four quadrants nor too small to matter are multiplied by m in integers.
static inline float LargeAngle(float x, bool cosine) {
  // 2/pi = 0.A2F9836E... in hexadecimal.
  static const uint32_t kTwoOverPi[9] = {0xA2F9836E, 0x4E441529, 0xFC2757D1, 0xF534DDC0, 0xDB629599,
                                         0x3C439041, 0xFE5163AB, 0xDEBBC561, 0xB7246E3A};
  using Wide = unsigned __int128;
  const int32_t bits = FloatToBits(x);
  const int32_t e = ((bits >> 23) & 0xff) - 150;
  const Wide m = static_cast<uint32_t>((bits & 0x7fffff) | 0x800000);
  // A window of 128 bits whose first has the weight 2 once it is multiplied by 2^e: bit e - 2 after the
  // point, counted from 0; bits before the point are zero.
  const int32_t start = e - 2;
  const int32_t word = start < 0 ? 0 : start / 32, shift = start < 0 ? 0 : start % 32;
  Wide window = 0;
  for (int i = 0; i < 4; ++i) window = window << 32 | kTwoOverPi[word + i];
  if (shift > 0) window = window << shift | kTwoOverPi[word + 4] >> (32 - shift);
  if (start < 0) window >>= -start;
  // The angle in quadrants, modulo 4, times 2^126; then the nearest whole quadrant and the rest.
  const Wide phase = m * window;
  const int32_t quadrant = static_cast<int32_t>((phase + (Wide{1} << 125)) >> 126) & 3;
  const Wide rest = phase - (static_cast<Wide>(quadrant) << 126);
  const double fraction = static_cast<double>(static_cast<int64_t>(rest >> 64)) * 0x1p-62;
  const SinCosPair pair = SinCos(fraction * 1.5707963267948966);

  const int32_t turn = cosine ? quadrant + 1 : quadrant;  // cos x = sin(x + pi/2), and cos is even
  const float s = (turn & 1) != 0 ? pair.cos : pair.sin;
  const float y = (turn & 2) != 0 ? -s : s;
  return bits < 0 && !cosine ? -y : y;
}

}  // namespace plinth::ops::PLINTH_KERNEL_LEVEL
