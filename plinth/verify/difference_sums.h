// Sums, largest errors and those worth recording, of full blocks.
#pragma once

#include "plinth/verify/difference_tally.h"
#include "plinth/verify/difference_types.h"

namespace plinth::verify::PLINTH_KERNEL_LEVEL {

// A block's numbers that are in double already.
struct F64 {
  static constexpr int kBytes = 8;
  static PLINTH_INLINE Reals Values(const std::byte* p) { return Load<Reals>(p); }
  static double ValueAt(const std::byte* p, int64_t i) {
    double x;
    __builtin_memcpy(&x, p + i * 8, 8);
    return x;
  }
};

template <typename Type>
PLINTH_INLINE double ValueOf(const std::byte* p, int64_t i) {
  if constexpr (Type::kBytes == 8) {
    return Type::ValueAt(p, i);
  } else {
    uint32_t bits = 0;
    __builtin_memcpy(&bits, p + i * Type::kBytes, Type::kBytes);
    return Type::Value(bits);
  }
}

// What the sums leave of a block.
struct BlockErrors {
  alignas(64) double error[kDifferBlock];        // b - a
  alignas(8) uint8_t suspect[kDifferBlock / 8];  // a bit for each whose relative error may be worth recording
  double most;                                   // of |b - a|
};

// A register's share of the eight sums.
struct SumRegisters {
  Reals a, d, aa, bb, ab, dd;

  PLINTH_INLINE SumRegisters(const Accumulators& from, int part)
      : a(Load<Reals>(from.a + part)),
        d(Load<Reals>(from.d + part)),
        aa(Load<Reals>(from.aa + part)),
        bb(Load<Reals>(from.bb + part)),
        ab(Load<Reals>(from.ab + part)),
        dd(Load<Reals>(from.dd + part)) {}
  PLINTH_INLINE void Save(Accumulators* to, int part) const {
    Store(a, to->a + part), Store(d, to->d + part), Store(aa, to->aa + part), Store(bb, to->bb + part);
    Store(ab, to->ab + part), Store(dd, to->dd + part);
  }
};

PLINTH_INLINE bool AllFinite(const double* v) {
  double zero = 0;
  for (int i = 0; i < kSums; ++i) zero += v[i] - v[i];
  return zero == 0;
}

// Asks for what follows some blocks later: the processor's own streams end with each page.
PLINTH_INLINE void PrefetchAfter(const std::byte* p) {
  constexpr uintptr_t kAhead = 4096;
  __builtin_prefetch(reinterpret_cast<const void*>(reinterpret_cast<uintptr_t>(p) + kAhead));
}

// Adds a full block to the sums. Gives false where an element is not finite: the sums are spoilt then.
template <typename Type>
PLINTH_INLINE bool AddBlock(const DifferPiece& piece, const std::byte* a, const std::byte* b,
                            Accumulators* sums, BlockErrors* errors) {
  constexpr bool kExact = Type::kBytes < 8;  // products of two values
  Reals most{};
  // Squares spare the magnitudes; a little less, as they are rounded.
  const Reals record_above =
      Reals{} + (kExact ? piece.record_above * piece.record_above * (1 - 0x1p-20) : piece.record_above);
  for (int part = 0; part < kSums; part += kReals) {
    SumRegisters s(*sums, part);
    for (int64_t i = part; i < kDifferBlock; i += kSums) {
      const Reals x = Type::Values(a + i * Type::kBytes), y = Type::Values(b + i * Type::kBytes);
      const Reals d = y - x, xx = x * x, dd = d * d;
      s.a += x, s.d += d, s.aa += xx, s.dd += dd;
      s.bb = kExact ? AddExact(s.bb, y, y) : s.bb + y * y;
      s.ab = kExact ? AddExact(s.ab, x, y) : s.ab + x * y;
      most = LargerMagnitude(most, d);
      const unsigned above =
          kExact ? Above(dd, record_above * xx) : Above(Magnitude(d), record_above * Magnitude(x));
      errors->suspect[i / 8] =
          static_cast<uint8_t>(part == 0 ? above : errors->suspect[i / 8] | above << part);
      if (part == 0) PrefetchAfter(a + i * Type::kBytes), PrefetchAfter(b + i * Type::kBytes);
      Store(d, errors->error + i);
    }
    s.Save(sums, part);
  }
  errors->most = 0;
  for (int i = 0; i < kReals; ++i) errors->most = most[i] > errors->most ? most[i] : errors->most;
  return AllFinite(sums->d);
}

// The same of a block whose bits are the same on both sides.
template <typename Type>
PLINTH_INLINE bool AddEqualBlock(const std::byte* a, Accumulators* sums) {
  for (int part = 0; part < kSums; part += kReals) {
    SumRegisters s(*sums, part);
    for (int64_t i = part; i < kDifferBlock; i += kSums) {
      const Reals x = Type::Values(a + i * Type::kBytes), xx = x * x;
      if (part == 0) PrefetchAfter(a + i * Type::kBytes);
      s.a += x, s.aa += xx, s.bb += xx, s.ab += xx;
    }
    s.Save(sums, part);
  }
  return AllFinite(sums->aa);
}

// Whether two blocks hold the same bits; those that do not mostly differ early.
PLINTH_INLINE bool SameBits(const std::byte* a, const std::byte* b, int64_t bytes) {
  if (Load<uint64_t>(a) != Load<uint64_t>(b)) return false;
  for (int64_t i = 0; i < bytes; i += 4 * kVector) {
    Longs differ{};
    for (int64_t k = i; k < i + 4 * kVector; k += kVector) differ |= Load<Longs>(a + k) ^ Load<Longs>(b + k);
    int64_t any = 0;
    for (int k = 0; k < kReals; ++k) any |= differ[k];
    if (any != 0) return false;
  }
  return true;
}

// Records what is suspect, closes the block's errors and takes maxima and closeness.
template <typename Type>
PLINTH_INLINE void TakeBlockErrors(const DifferPiece& piece, const std::byte* a, int64_t begin,
                                   BlockErrors* errors, DifferTally* tally) {
  uint16_t suspects[kDifferBlock + 4];
  int64_t count = 0;
  for (int64_t w = 0; w < kDifferBlock / 64; ++w) {
    auto mask = Load<uint64_t>(errors->suspect + 8 * w);
    int64_t at = count;
    count += __builtin_popcountll(mask);
    // Most words have a few: no branch for each.
    for (int k = 0; k < 4; ++k, mask &= mask - 1) {
      suspects[at + k] = static_cast<uint16_t>(64 * w + __builtin_ctzll(mask | uint64_t{1} << 63));
    }
    for (at += 4; at < count; ++at, mask &= mask - 1)
      suspects[at] = static_cast<uint16_t>(64 * w + __builtin_ctzll(mask));
  }
  for (int64_t k = 0; k < count; ++k) {
    const double abs_a = Abs(ValueOf<Type>(a, suspects[k])), abs_d = Abs(errors->error[suspects[k]]);
    if (abs_d > piece.record_above * abs_a) Record(&tally->sketch, abs_a, abs_d, piece.sketch_base);
  }
  const bool wanted = piece.check_close || NeedsElements(piece, errors->most, *tally);
  if (wanted) {
    for (int64_t i = 0; i < kDifferBlock; ++i) errors->error[i] = Abs(errors->error[i]);
  }
  if (piece.check_close) {
    const double atol = piece.atol * piece.scale;
    for (int64_t i = 0; i < kDifferBlock; ++i) {
      tally->outside += errors->error[i] > atol + piece.rtol * Abs(ValueOf<Type>(a, i)) ? 1 : 0;
    }
  }
  TakeErrors(piece, wanted ? errors->error : nullptr, begin, kDifferBlock, errors->most, tally);
}

}  // namespace plinth::verify::PLINTH_KERNEL_LEVEL
