// Steps between the bits of full blocks, their histogram, and the range of both sides.
#pragma once

#include "plinth/verify/difference_elements.h"

namespace plinth::verify::PLINTH_KERNEL_LEVEL {

template <typename Type>
PLINTH_INLINE Ints KeyOf(Words bits) {
  const Words magnitude = bits & ((1u << Type::kSign) - 1);
  const Words sign = -(bits >> Type::kSign);  // 0, or all ones
  return As<Ints>((magnitude ^ sign) - sign);
}

template <typename V>
PLINTH_INLINE bool Any(V mask) {
  const auto longs = As<Longs>(mask);
  int64_t any = 0;
  for (int i = 0; i < kReals; ++i) any |= longs[i];
  return any != 0;
}

// Zeros and subnormals, only in blocks that hold any.
template <typename Type>
inline void CountSmall(const std::byte* a, const std::byte* b, DifferTally* tally) {
  constexpr uint32_t kMagnitude = (1u << Type::kSign) - 1;
  Ints zero_a{}, zero_b{}, small_a{}, small_b{}, signs{};
  for (int64_t i = 0; i < kDifferBlock; i += kWords) {
    const Words bits_a = Type::Bits(a + i * Type::kBytes), bits_b = Type::Bits(b + i * Type::kBytes);
    const Words abs_a = bits_a & kMagnitude, abs_b = bits_b & kMagnitude;
    zero_a += abs_a == 0, zero_b += abs_b == 0;
    small_a += abs_a < Type::kNormal, small_b += abs_b < Type::kNormal;
    signs += ((abs_a | abs_b) == 0) & (bits_a != bits_b);
  }
  int64_t za = 0, zb = 0, sa = 0, sb = 0, s = 0;
  for (int i = 0; i < kWords; ++i)
    za -= zero_a[i], zb -= zero_b[i], sa -= small_a[i], sb -= small_b[i], s -= signs[i];
  tally->a.zero += za, tally->b.zero += zb;
  tally->a.subnormal += sa - za, tally->b.subnormal += sb - zb;
  tally->zero_sign += s;
}

// How many of a block's bytes are above a limit.
struct AboveLimit {
  const Bytes* bytes;
  int64_t operator()(uint8_t limit) const {
#if defined(__AVX512F__)
    int64_t found = 0;
    for (int64_t i = 0; i < kDifferBlock / kVector; ++i) {
      found += __builtin_popcountll(
          _mm512_cmpgt_epu8_mask(As<__m512i>(bytes[i]), _mm512_set1_epi8(static_cast<char>(limit))));
    }
    return found;
#else
    Bytes count{};
    for (int64_t i = 0; i < kDifferBlock / kVector; ++i) count -= As<Bytes>(bytes[i] > limit);
    // At most 512 / kVector in a byte: the sums of all bytes in one place fit one.
    const auto pairs = As<Longs>(count);
    uint64_t sum = 0;
    for (int i = 0; i < kReals; ++i) sum += static_cast<uint64_t>(pairs[i]);
    // Eight bytes of at most 64 each now.
    sum = (sum & 0x00ff00ff00ff00ff) + (sum >> 8 & 0x00ff00ff00ff00ff);
    return static_cast<int64_t>((sum * 0x0001000100010001) >> 48);
#endif
  }
};

// Adds to the histogram what stands in `bytes`, one for each element: steps, or the bins themselves. Gives
// how many are not zero.
inline int64_t CountSteps(const Bytes* bytes, bool bins, DifferTally* tally) {
  const AboveLimit above{bytes};
  int64_t before = kDifferBlock, unequal = 0;
  int bin = 0;
  for (int limit = 0; limit < 256 && before > 0; limit = bins ? limit + 1 : limit == 0 ? 1 : 2 * limit) {
    const int64_t now = above(static_cast<uint8_t>(limit));
    tally->ulp[bin++] += before - now;
    if (limit == 0) unequal = now;
    before = now;
  }
  if (before > 0) tally->ulp[bin] += before;  // 129 to 255 steps
  return unequal;
}

// What a look at the bits of a piece's full blocks tells; all their elements are finite.
template <typename Type>
class PieceBits {
 public:
  void Take(const std::byte* a, const std::byte* b, DifferTally* tally) {
    alignas(64) Bytes bytes[kDifferBlock / kVector];
    Floats least_a = Floats{} + __builtin_inff(), least_b = least_a;
    const Words steps =
        large_ ? Scan<true>(a, b, bytes, &least_a, &least_b) : Scan<false>(a, b, bytes, &least_a, &least_b);
    const bool large = Any(Larger(steps, Words{} + 255u) != 255u);
    if (large && !large_) Bins(a, b, bytes);
    unequal_ += CountSteps(bytes, large || large_, tally);
    large_ = large;  // the next block is mostly like this one
    steps_ = Larger(steps_, steps);
    const Floats normal = Floats{} + 0x1p-126f;
    if (Any(least_a < normal) || Any(least_b < normal)) CountSmall<Type>(a, b, tally);
    ++blocks_;
  }

  // A block whose bits are the same on both sides.
  void TakeEqual(const std::byte* a, DifferTally* tally) {
    Floats least = Floats{} + __builtin_inff();
    for (int64_t i = 0; i < kDifferBlock; i += kWords) {
      const Floats x = Type::Order(Type::Bits(a + i * Type::kBytes));
      Extend(x, &low_a_, &high_a_), Extend(x, &low_b_, &high_b_);
      least = SmallerMagnitude(least, x);
    }
    if (Any(least < Floats{} + 0x1p-126f)) CountSmall<Type>(a, a, tally);
    tally->ulp[0] += kDifferBlock;
    ++blocks_;
  }

  void Finish(DifferTally* tally) const {
    if (blocks_ == 0) return;
    int64_t positive = 0;
    for (int i = 0; i < kWords; ++i) {
      positive += positive_[i];
      if (steps_[i] > tally->max_ulp) tally->max_ulp = steps_[i];
      // Plus zero: no negative zero.
      Range(low_a_[i] * Type::kOrderUnit + 0, &tally->a), Range(high_a_[i] * Type::kOrderUnit + 0, &tally->a);
      Range(low_b_[i] * Type::kOrderUnit + 0, &tally->b), Range(high_b_[i] * Type::kOrderUnit + 0, &tally->b);
    }
    tally->positive += positive;
    tally->negative += unequal_ - positive;
    tally->unequal += unequal_;
    tally->finite += blocks_ * kDifferBlock;
  }

 private:
  static PLINTH_INLINE void Extend(Floats x, Floats* low, Floats* high) {
    *low = Smaller(*low, x), *high = Larger(*high, x);
  }

  static PLINTH_INLINE Words Distance(Words a, Words b, bool signs_differ) {
    if (!signs_differ) return Magnitude(As<Ints>(b) - As<Ints>(a));
    const Ints key_a = KeyOf<Type>(a), key_b = KeyOf<Type>(b);
    const auto apart = As<Words>(key_b) - As<Words>(key_a), flip = As<Words>(~(key_b > key_a));
    return (apart ^ flip) - flip;
  }

  // The bin of a distance. The exponent of 2 d - 1 is that of the bin: 0, 1, 2, 3-4, 5-8 ... The float is
  // exact up to the cap.
  static PLINTH_INLINE Words Bin(Words distance) {
    const Words capped = Smaller(distance, Words{} + 16384u);
    const auto twice = As<Ints>(capped + capped - 1);
    const auto exponent = As<Ints>(__builtin_convertvector(twice, Floats)) >> 23;
    return As<Words>(Larger(exponent - 126, Ints{}));
  }

  // Steps up to 255, or bins, as bytes in any order; gives the largest number of steps.
  template <bool kBins>
  PLINTH_INLINE Words Scan(const std::byte* a, const std::byte* b, Bytes* bytes, Floats* least_a,
                           Floats* least_b) {
    constexpr int64_t kStep = kWords * Type::kBytes;
    Words most{};
    for (int64_t i = 0; i < kDifferBlock / kVector; ++i) {
      Words x[4], y[4], signs{};
      for (int k = 0; k < 4; ++k) {
        x[k] = Type::Bits(a + (4 * i + k) * kStep), y[k] = Type::Bits(b + (4 * i + k) * kStep);
        signs |= x[k] ^ y[k];
      }
      const bool differ = AnyNegative(signs << (31 - Type::kSign));
      Words all{};
      for (int k = 0; k < 4; ++k) {
        const Words distance = Distance(x[k], y[k], differ);
        most = Larger(most, distance);
        all |= (kBins ? Bin(distance) : distance) << (8 * k);
        const Floats u = Type::Order(x[k]), v = Type::Order(y[k]);
        Extend(u, &low_a_, &high_a_), Extend(v, &low_b_, &high_b_);
        *least_a = SmallerMagnitude(*least_a, u), *least_b = SmallerMagnitude(*least_b, v);
        positive_ = CountAbove(positive_, v, u);
      }
      bytes[i] = As<Bytes>(all);
    }
    return most;
  }

  // Bins for a block that turned out to hold more than 255 steps.
  static void Bins(const std::byte* a, const std::byte* b, Bytes* bytes) {
    constexpr int64_t kStep = kWords * Type::kBytes;
    for (int64_t i = 0; i < kDifferBlock / kVector; ++i) {
      Words all{};
      for (int k = 0; k < 4; ++k) {
        const int64_t at = (4 * i + k) * kStep;
        all |= Bin(Distance(Type::Bits(a + at), Type::Bits(b + at), true)) << (8 * k);
      }
      bytes[i] = As<Bytes>(all);
    }
  }

  bool large_ = false;
  int64_t blocks_ = 0, unequal_ = 0;
  Ints positive_{};
  Words steps_{};
  Floats low_a_ = Floats{} + __builtin_inff(), low_b_ = low_a_;
  Floats high_a_ = Floats{} - __builtin_inff(), high_b_ = high_a_;
};

}  // namespace plinth::verify::PLINTH_KERNEL_LEVEL
