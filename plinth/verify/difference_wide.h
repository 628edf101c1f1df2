// Full blocks of any two types, turned into doubles first.
#pragma once

#include "plinth/verify/difference_bits.h"
#include "plinth/verify/difference_sums.h"

namespace plinth::verify::PLINTH_KERNEL_LEVEL {

template <typename T>
PLINTH_INLINE void Convert(const std::byte* p, double* out) {
  for (int64_t i = 0; i < kDifferBlock; ++i) {
    out[i] = static_cast<double>(At<T>(p + i * static_cast<int64_t>(sizeof(T))));
  }
}

// Values and keys of the 256 patterns of an 8-bit type.
struct ByteTable {
  double value[256];
  int16_t key[256];

  void Fill(Element type) {
    for (int i = 0; i < 256; ++i) {
      const std::byte pattern[8] = {static_cast<std::byte>(i)};
      Element1 one{};
      ReadBlock(type, pattern, 1, &one);
      value[i] = one.value, key[i] = static_cast<int16_t>(one.key);
    }
  }
};

inline void ToDoubles(Element type, const std::byte* p, const ByteTable& table, double* out) {
  switch (type) {
    case Element::kF64:
      return Convert<double>(p, out);
    case Element::kF32:
      return Convert<float>(p, out);
    case Element::kF16:
      for (int64_t i = 0; i < kDifferBlock; ++i) {
        const uint32_t bits = At<uint16_t>(p + 2 * i);
        out[i] = (bits & 0x7fff) < F16::kInfinity ? F16::Value(bits) : __builtin_nan("");
      }
      return;
    case Element::kBF16:
      for (int64_t i = 0; i < kDifferBlock; ++i) out[i] = BF16::Value(At<uint16_t>(p + 2 * i));
      return;
    case Element::kI64:
      return Convert<int64_t>(p, out);
    case Element::kI32:
      return Convert<int32_t>(p, out);
    case Element::kI16:
      return Convert<int16_t>(p, out);
    case Element::kU16:
      return Convert<uint16_t>(p, out);
    case Element::kU32:
      return Convert<uint32_t>(p, out);
    case Element::kU64:
      return Convert<uint64_t>(p, out);
    default:
      for (int64_t i = 0; i < kDifferBlock; ++i) out[i] = table.value[At<uint8_t>(p + i)];
  }
}

class WideBlocks {
 public:
  WideBlocks(const DifferPiece& piece, const Pairing& pairing) : piece_(piece), pairing_(pairing) {
    if (pairing.bytes_a == 1) table_a_.Fill(piece.element_a);
    if (pairing.bytes_b == 1) table_b_.Fill(piece.element_b);
    const auto normal = [](Element type) { return kElementInfo[static_cast<int>(type)].smallest_normal; };
    normal_a_ = normal(piece.element_a), normal_b_ = normal(piece.element_b);
    // Their differences are exact only where the numbers are exact in double.
    exact_ = pairing.whole && pairing.same && pairing.bytes_a == 8;
  }

  // Gives false, having done nothing but spoil the sums, where an element is not finite or not exact.
  bool Take(const std::byte* a, const std::byte* b, int64_t begin, Accumulators* sums, DifferTally* tally) {
    ToDoubles(piece_.element_a, a, table_a_, a_);
    if (pairing_.same && SameBits(a, b, kDifferBlock * pairing_.bytes_a)) return TakeEqual(sums, tally);
    ToDoubles(piece_.element_b, b, table_b_, b_);
    if (exact_ && !(Most(a_) < 0x1p53 && Most(b_) < 0x1p53)) return false;
    Steps(a, b);
    SideTally small_a{}, small_b{};
    const int64_t signs = CountSmall(&small_a, &small_b);
    Scale(a_), Scale(b_);
    if (!AddBlock<F64>(piece_, Start(a_), Start(b_), sums, &errors_)) return false;
    tally->a.zero += small_a.zero, tally->a.subnormal += small_a.subnormal;
    tally->b.zero += small_b.zero, tally->b.subnormal += small_b.subnormal;
    tally->zero_sign += signs;
    tally->finite += kDifferBlock;
    Ranges(a_, &tally->a), Ranges(b_, &tally->b);
    CountErrors(tally);
    TakeBlockErrors<F64>(piece_, Start(a_), begin, &errors_, tally);
    return true;
  }

 private:
  // The same bits on both sides: a_ holds the values.
  bool TakeEqual(Accumulators* sums, DifferTally* tally) {
    int64_t zero = 0, small = 0;
    for (int64_t i = 0; i < kDifferBlock; ++i) zero += a_[i] == 0, small += Abs(a_[i]) < normal_a_;
    Scale(a_);
    if (!AddEqualBlock<F64>(Start(a_), sums)) return false;
    for (SideTally* side : {&tally->a, &tally->b}) {
      side->zero += zero, side->subnormal += small > zero ? small - zero : 0;
      Ranges(a_, side);
    }
    tally->finite += kDifferBlock;
    tally->ulp[0] += kDifferBlock;
    return true;
  }

  void Scale(double* v) const {
    if (piece_.scale == 1) return;
    for (int64_t i = 0; i < kDifferBlock; ++i) v[i] *= piece_.scale;
  }

  static const std::byte* Start(const double* v) { return reinterpret_cast<const std::byte*>(v); }

  static double Most(const double* v) {
    Reals most{};
    for (int64_t i = 0; i < kDifferBlock; i += kReals) most = LargerMagnitude(most, Load<Reals>(v + i));
    double top = 0;
    for (int i = 0; i < kReals; ++i) top = most[i] > top ? most[i] : top;
    return top;
  }

  static void Ranges(const double* v, SideTally* side) {
    Reals low = Load<Reals>(v), high = low;
    for (int64_t i = kReals; i < kDifferBlock; i += kReals) {
      const auto x = Load<Reals>(v + i);
      low = Smaller(low, x), high = Larger(high, x);
    }
    for (int i = 0; i < kReals; ++i) Range(low[i] + 0, side), Range(high[i] + 0, side);
  }

  // Zeros, subnormals, and zeros of different sign (the result).
  int64_t CountSmall(SideTally* a, SideTally* b) const {
    int64_t zero_a = 0, zero_b = 0, small_a = 0, small_b = 0, signs = 0;
    for (int64_t i = 0; i < kDifferBlock; ++i) {
      const double x = Abs(a_[i]), y = Abs(b_[i]);
      zero_a += x == 0, zero_b += y == 0;
      small_a += x < normal_a_, small_b += y < normal_b_;
      signs += static_cast<int64_t>(x + y == 0) & static_cast<int64_t>((BitsOf(a_[i]) ^ BitsOf(b_[i])) >> 63);
    }
    a->zero = zero_a, b->zero = zero_b;
    // Of whole numbers nothing is subnormal, and no limit is above zero.
    a->subnormal = small_a > zero_a ? small_a - zero_a : 0;
    b->subnormal = small_b > zero_b ? small_b - zero_b : 0;
    return signs;
  }

  // As StepsBetween.
  void Steps(const std::byte* a, const std::byte* b) {
    if (pairing_.whole) {
      for (int64_t i = 0; i < kDifferBlock; ++i) steps_[i] = Abs(b_[i] - a_[i]);
    } else if (pairing_.same && pairing_.bytes_a == 1) {
      for (int64_t i = 0; i < kDifferBlock; ++i) {
        const int distance = table_b_.key[At<uint8_t>(b + i)] - table_a_.key[At<uint8_t>(a + i)];
        steps_[i] = distance < 0 ? -distance : distance;
      }
    } else if (pairing_.same) {
      for (int64_t i = 0; i < kDifferBlock; ++i) steps_[i] = Apart(Key(a_[i]), Key(b_[i]));
    } else {
      for (int64_t i = 0; i < kDifferBlock; ++i) {
        steps_[i] = Apart(GridKey(a_[i], pairing_.digits, pairing_.smallest_normal),
                          GridKey(b_[i], pairing_.digits, pairing_.smallest_normal));
      }
    }
  }

  static PLINTH_INLINE int64_t Key(double x) {
    const auto magnitude = static_cast<int64_t>(BitsOf(x) & INT64_MAX);
    const int64_t sign = static_cast<int64_t>(BitsOf(x)) >> 63;
    return (magnitude ^ sign) - sign;
  }
  // Modulo 2^64 the distance of keys of any sign is right.
  static PLINTH_INLINE double Apart(int64_t x, int64_t y) {
    const uint64_t up = static_cast<uint64_t>(y) - static_cast<uint64_t>(x);
    return static_cast<double>(x < y ? up : uint64_t{0} - up);
  }

  void CountErrors(DifferTally* tally) {
    double most = 0;
    int64_t positive = 0, negative = 0;
    for (int64_t i = 0; i < kDifferBlock; ++i) {
      positive += errors_.error[i] > 0, negative += errors_.error[i] < 0;
    }
    Reals top{};
    for (int64_t i = 0; i < kDifferBlock; i += kReals) top = Larger(top, Load<Reals>(steps_ + i));
    for (int i = 0; i < kReals; ++i) most = top[i] > most ? top[i] : most;
    if (most > tally->max_ulp) tally->max_ulp = most;
    auto* bytes = reinterpret_cast<uint8_t*>(bins_);
    for (int64_t i = 0; i < kDifferBlock; ++i) {
      // The exponent of 2 s - 1 is that of the bin; see PieceBits.
      const double capped = steps_[i] < 16384 ? steps_[i] : 16384;
      const auto exponent = static_cast<int64_t>(BitsOf(capped + capped - 1)) >> 52;
      bytes[i] = static_cast<uint8_t>(exponent > 1022 ? exponent - 1022 : 0);
    }
    const int64_t unequal = CountSteps(bins_, true, tally);
    tally->unequal += pairing_.same ? unequal : positive + negative;
    tally->positive += positive, tally->negative += negative;
  }

  const DifferPiece& piece_;
  const Pairing& pairing_;
  double normal_a_, normal_b_;
  bool exact_;
  alignas(64) double a_[kDifferBlock], b_[kDifferBlock], steps_[kDifferBlock];
  alignas(64) Bytes bins_[kDifferBlock / kVector];
  BlockErrors errors_;
  ByteTable table_a_, table_b_;
};

}  // namespace plinth::verify::PLINTH_KERNEL_LEVEL
