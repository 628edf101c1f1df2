// Any type, element by element: the remainder of a tensor, blocks with values that are not finite.
#pragma once

#include "plinth/verify/difference_tally.h"
#include "plinth/verify/difference_types.h"

namespace plinth::verify::PLINTH_KERNEL_LEVEL {

struct Element1 {
  double value;
  int64_t key;  // place on the type's own grid; of integers the number
  bool subnormal;
};

template <typename T>
PLINTH_INLINE T At(const std::byte* p) {
  T value;
  __builtin_memcpy(&value, p, sizeof(T));
  return value;
}
template <typename T>
PLINTH_INLINE Element1 Whole(const std::byte* p) {
  const T value = At<T>(p);
  return {static_cast<double>(value), static_cast<int64_t>(value), false};
}
PLINTH_INLINE Element1 Signed(double value, uint64_t magnitude, bool negative, uint64_t normal) {
  const auto key = static_cast<int64_t>(magnitude);
  return {value, negative ? -key : key, magnitude != 0 && magnitude < normal};
}
template <typename Type>
PLINTH_INLINE Element1 Short(const std::byte* p) {
  const uint32_t bits = Type::kBytes == 4 ? At<uint32_t>(p) : At<uint16_t>(p);
  const uint32_t sign = 1u << Type::kSign;
  const uint32_t magnitude = bits & (sign - 1);
  double value = Type::Value(bits);
  if (magnitude >= Type::kInfinity) {
    value = magnitude > Type::kInfinity ? __builtin_nan("") : __builtin_inf();
    value = (bits & sign) != 0 ? -value : value;
  }
  return Signed(value, magnitude, (bits & sign) != 0, Type::kNormal);
}
// An 8-bit float with its sign in the top bit.
inline Element1 Byte(const std::byte* p, int fraction_bits, int bias, bool fnuz, bool infinities) {
  const uint32_t bits = At<uint8_t>(p), magnitude = bits & 0x7f;
  const bool negative = (bits & 0x80) != 0;
  const uint32_t fraction = magnitude & ((1u << fraction_bits) - 1), exponent = magnitude >> fraction_bits;
  const double step = FromBits(static_cast<uint64_t>(1023 + 1 - bias - fraction_bits) << 52);
  double value =
      exponent == 0 ? fraction * step
                    : ((1u << fraction_bits) + fraction) * step * static_cast<double>(1ull << (exponent - 1));
  if (fnuz ? bits == 0x80 : infinities ? magnitude > 0x7c : magnitude == 0x7f) value = __builtin_nan("");
  if (infinities && magnitude == 0x7c) value = __builtin_inf();
  return Signed(negative ? -value : value, magnitude, negative, uint64_t{1} << fraction_bits);
}

template <typename One>
PLINTH_INLINE void Each(const std::byte* p, int64_t n, int bytes, Element1* out, One one) {
  for (int64_t i = 0; i < n; ++i) out[i] = one(p + i * bytes);
}

inline void ReadBlock(Element type, const std::byte* p, int64_t n, Element1* out) {
  switch (type) {
    case Element::kF64:
      return Each(p, n, 8, out, [](const std::byte* q) {
        const double value = At<double>(q);
        return Signed(value, BitsOf(value) & INT64_MAX, BitsOf(value) >> 63 != 0, uint64_t{1} << 52);
      });
    case Element::kF32:
      return Each(p, n, 4, out, [](const std::byte* q) { return Short<F32>(q); });
    case Element::kF16:
      return Each(p, n, 2, out, [](const std::byte* q) { return Short<F16>(q); });
    case Element::kBF16:
      return Each(p, n, 2, out, [](const std::byte* q) { return Short<BF16>(q); });
    case Element::kI64:
      return Each(p, n, 8, out, [](const std::byte* q) { return Whole<int64_t>(q); });
    case Element::kI32:
      return Each(p, n, 4, out, [](const std::byte* q) { return Whole<int32_t>(q); });
    case Element::kI16:
      return Each(p, n, 2, out, [](const std::byte* q) { return Whole<int16_t>(q); });
    case Element::kI8:
      return Each(p, n, 1, out, [](const std::byte* q) { return Whole<int8_t>(q); });
    case Element::kU8:
      return Each(p, n, 1, out, [](const std::byte* q) { return Whole<uint8_t>(q); });
    case Element::kBool:
      return Each(p, n, 1, out, [](const std::byte* q) {
        const int64_t flag = At<uint8_t>(q) != 0 ? 1 : 0;
        return Element1{static_cast<double>(flag), flag, false};
      });
    case Element::kU16:
      return Each(p, n, 2, out, [](const std::byte* q) { return Whole<uint16_t>(q); });
    case Element::kU32:
      return Each(p, n, 4, out, [](const std::byte* q) { return Whole<uint32_t>(q); });
    case Element::kU64:
      return Each(p, n, 8, out, [](const std::byte* q) {
        const auto value = At<uint64_t>(q);
        return Element1{static_cast<double>(value), static_cast<int64_t>(value ^ uint64_t{1} << 63), false};
      });
    case Element::kF8E4M3:
      return Each(p, n, 1, out, [](const std::byte* q) { return Byte(q, 3, 7, false, false); });
    case Element::kF8E5M2:
      return Each(p, n, 1, out, [](const std::byte* q) { return Byte(q, 2, 15, false, true); });
    case Element::kF8E4M3Fnuz:
      return Each(p, n, 1, out, [](const std::byte* q) { return Byte(q, 3, 8, true, false); });
    case Element::kF8E5M2Fnuz:
      return Each(p, n, 1, out, [](const std::byte* q) { return Byte(q, 2, 16, true, false); });
    case Element::kF8E8M0:
      return Each(p, n, 1, out, [](const std::byte* q) {
        const uint64_t exponent = At<uint8_t>(q);
        const double value = exponent == 255 ? __builtin_nan("") : FromBits((exponent + 1023 - 127) << 52);
        return Element1{value, static_cast<int64_t>(exponent), false};
      });
  }
}

// The place of a finite number, rounded to nearest, on the grid of a float type: an integer that grows by one
// from each representable number to the next.
inline int64_t GridKey(double x, int digits, double smallest_normal) {
  const double magnitude = Abs(x);
  const auto least = static_cast<int64_t>(BitsOf(smallest_normal) >> 52);
  auto exponent = static_cast<int64_t>(BitsOf(magnitude) >> 52);
  // The number in units of its power of two; below the normal range in units of the smallest normal.
  double units = FromBits((BitsOf(magnitude) & ((uint64_t{1} << 52) - 1)) | uint64_t{1023} << 52);
  if (exponent < least) {
    units = magnitude * FromBits(static_cast<uint64_t>(2046 - least) << 52);
    exponent = least;
  }
  const double quotient = units * FromBits(static_cast<uint64_t>(1023 + digits - 1) << 52);
  constexpr double kRound = 0x1p52;
  const double rounded = digits > 52 ? quotient : (quotient + kRound) - kRound;
  const int64_t key = ((exponent - least) << (digits - 1)) + static_cast<int64_t>(rounded);
  return BitsOf(x) >> 63 != 0 ? -key : key;
}

inline int UlpBin(double steps) {
  if (steps < 1) return 0;
  const auto whole = steps < 8193 ? static_cast<uint32_t>(steps) : 8193u;
  return whole == 1 ? 1 : 33 - __builtin_clz(whole - 1);
}

inline void Classify(const Element1& e, SideTally* side) {
  if (IsNan(e.value)) {
    ++side->nan;
  } else if (!Finite(e.value)) {
    ++(e.value > 0 ? side->pos_inf : side->neg_inf);
  } else if (e.value == 0) {
    ++side->zero;
  } else if (e.subnormal) {
    ++side->subnormal;
  }
}

inline void Range(double value, SideTally* side) {
  if (value < side->min) side->min = value;
  if (value > side->max) side->max = value;
}

// How two types are held against each other.
struct Pairing {
  bool same, whole;  // one type on both sides; integers or booleans on both
  int bytes_a, bytes_b;
  int digits;
  double smallest_normal;
};

// Takes a pair of which one is not finite.
inline void TakeSpecial(double a, double b, int64_t index, DifferTally* tally) {
  const bool nan_differs = IsNan(a) != IsNan(b);
  // Both NaN is agreement; the same infinity too.
  const bool inf_differs = !nan_differs && !IsNan(a) && a != b;
  if (!nan_differs && !inf_differs) return;
  ++(nan_differs ? tally->nan_mismatch : tally->inf_mismatch);
  ++tally->unequal;
  ++tally->outside;
  if (tally->first_mismatch < 0 || index < tally->first_mismatch) tally->first_mismatch = index;
}

inline double StepsBetween(const Pairing& p, const Element1& a, const Element1& b) {
  if (!p.same && p.whole) return Abs(b.value - a.value);
  const int64_t key_a = p.same ? a.key : GridKey(a.value, p.digits, p.smallest_normal);
  const int64_t key_b = p.same ? b.key : GridKey(b.value, p.digits, p.smallest_normal);
  // Modulo 2^64 the distance of keys of any sign is right.
  return static_cast<double>(key_a < key_b ? static_cast<uint64_t>(key_b) - static_cast<uint64_t>(key_a)
                                           : static_cast<uint64_t>(key_a) - static_cast<uint64_t>(key_b));
}

inline void TakeAny(const DifferPiece& piece, const Pairing& p, const std::byte* at_a, const std::byte* at_b,
                    int64_t begin, int64_t n, Accumulators* sums, DifferTally* tally) {
  double error[kDifferBlock];
  Element1 block_a[kDifferBlock], block_b[kDifferBlock];
  ReadBlock(piece.element_a, at_a, n, block_a);
  ReadBlock(piece.element_b, at_b, n, block_b);
  double most = 0;
  for (int64_t i = 0; i < n; ++i) {
    error[i] = 0;
    Element1& a = block_a[i];
    Element1& b = block_b[i];
    Classify(a, &tally->a);
    Classify(b, &tally->b);
    if (!Finite(a.value) || !Finite(b.value)) {
      TakeSpecial(a.value, b.value, begin + i, tally);
      continue;
    }
    ++tally->finite;
    const double steps = StepsBetween(p, a, b);
    if (a.value == 0 && b.value == 0 && BitsOf(a.value) != BitsOf(b.value)) ++tally->zero_sign;
    a.value *= piece.scale, b.value *= piece.scale;
    Range(a.value, &tally->a);
    Range(b.value, &tally->b);
    ++tally->ulp[UlpBin(steps)];
    if (steps > tally->max_ulp) tally->max_ulp = steps;
    double d = b.value - a.value;
    // Of 64-bit integers the difference is exact before it is rounded.
    if (p.whole && p.same) d = b.key < a.key ? -steps : steps;
    const bool differs = p.same ? steps != 0 : d != 0;
    if (differs) ++tally->unequal;
    if (d > 0) ++tally->positive;
    if (d < 0) ++tally->negative;
    const int lane = static_cast<int>(i % kSums);
    sums->a[lane] += a.value;
    sums->d[lane] += d;
    sums->aa[lane] += a.value * a.value;
    sums->bb[lane] += b.value * b.value;
    sums->ab[lane] += a.value * b.value;
    sums->dd[lane] += d * d;
    error[i] = Abs(d);
    if (error[i] > most) most = error[i];
    if (error[i] > piece.record_above * Abs(a.value))
      Record(&tally->sketch, Abs(a.value), error[i], piece.sketch_base);
    if (piece.check_close && error[i] > piece.atol * piece.scale + piece.rtol * Abs(a.value))
      ++tally->outside;
  }
  TakeErrors(piece, error, begin, n, most, tally);
}

}  // namespace plinth::verify::PLINTH_KERNEL_LEVEL
