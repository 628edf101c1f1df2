// Every level adds in the same order and without fused multiply-add, so that all levels give the same bits.
#include "plinth/verify/difference_kernel.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"  // of the header itself
#include <immintrin.h>
#pragma GCC diagnostic pop

// Vectors cross no call of a function that is not inlined.
#pragma GCC diagnostic ignored "-Wpsabi"

#define PLINTH_INLINE inline __attribute__((always_inline))

namespace plinth::verify::PLINTH_KERNEL_LEVEL {
namespace {

#if defined(__AVX512F__)
constexpr int kVector = 64;  // bytes of this level's registers
#elif defined(__AVX2__)
constexpr int kVector = 32;
#else
constexpr int kVector = 16;
#endif
constexpr int kWords = kVector / 4;  // 32-bit numbers in a register
constexpr int kReals = kVector / 8;  // doubles in a register
constexpr int kSums = 8;             // sums run over every eighth element, whatever the level

using Bytes = uint8_t __attribute__((vector_size(kVector)));
using Words = uint32_t __attribute__((vector_size(kVector)));
using Ints = int32_t __attribute__((vector_size(kVector)));
using Floats = float __attribute__((vector_size(kVector)));
using Reals = double __attribute__((vector_size(kVector)));
using Longs = int64_t __attribute__((vector_size(kVector)));
using HalfShorts = uint16_t __attribute__((vector_size(kVector / 2)));
using QuarterShorts = uint16_t __attribute__((vector_size(kVector / 4)));
using HalfWords = uint32_t __attribute__((vector_size(kVector / 2)));
using HalfFloats = float __attribute__((vector_size(kVector / 2)));

template <typename V>
PLINTH_INLINE V Load(const void* from) {
  V v;
  __builtin_memcpy(&v, from, sizeof(V));
  return v;
}

template <typename V>
PLINTH_INLINE V Larger(V x, V y) {
  return x > y ? x : y;
}
template <>
PLINTH_INLINE Reals Larger(Reals x, Reals y) {
#if defined(__AVX512F__)
  return _mm512_max_pd(x, y);
#elif defined(__AVX2__)
  return _mm256_max_pd(x, y);
#else
  return _mm_max_pd(x, y);
#endif
}
template <typename V>
PLINTH_INLINE V Smaller(V x, V y) {
  return x < y ? x : y;
}

// Bit i of the result: whether x[i] > y[i].
PLINTH_INLINE unsigned Above(Reals x, Reals y) {
#if defined(__AVX512F__)
  return _mm512_cmp_pd_mask(x, y, _CMP_GT_OQ);
#elif defined(__AVX2__)
  return static_cast<unsigned>(_mm256_movemask_pd(_mm256_cmp_pd(x, y, _CMP_GT_OQ)));
#else
  return static_cast<unsigned>(_mm_movemask_pd(_mm_cmpgt_pd(x, y)));
#endif
}

PLINTH_INLINE Reals Widen(HalfFloats x) {
#if defined(__AVX512F__)
  return _mm512_cvtps_pd(x);  // the compiler would convert in two halves
#else
  return __builtin_convertvector(x, Reals);
#endif
}
PLINTH_INLINE Reals Magnitude(Reals x) {
  return reinterpret_cast<Reals>(reinterpret_cast<Longs>(x) & INT64_MAX);
}
PLINTH_INLINE double Sum(const double* v) {
  return ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7]));
}

PLINTH_INLINE uint64_t BitsOf(double x) {
  uint64_t bits;
  __builtin_memcpy(&bits, &x, 8);
  return bits;
}
PLINTH_INLINE double FromBits(uint64_t bits) {
  double x;
  __builtin_memcpy(&x, &bits, 8);
  return x;
}
PLINTH_INLINE double Abs(double x) { return FromBits(BitsOf(x) & INT64_MAX); }
PLINTH_INLINE bool Finite(double x) { return (BitsOf(x) & INT64_MAX) < 0x7ff0000000000000; }
PLINTH_INLINE bool IsNan(double x) { return (BitsOf(x) & INT64_MAX) > 0x7ff0000000000000; }

// ---- The types whose full blocks go through vectors. `Values` may give any finite number for what is not
// finite: blocks with such elements take the other path.

struct F32 {
  static constexpr int kBytes = 4;
  static constexpr int kSign = 31;
  static constexpr uint32_t kInfinity = 0x7f800000, kNormal = 0x00800000;
  static PLINTH_INLINE Words Bits(const std::byte* p) { return Load<Words>(p); }
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
  static PLINTH_INLINE Words Bits(const std::byte* p) {
    return __builtin_convertvector(Load<HalfShorts>(p), Words);
  }
  static PLINTH_INLINE Reals Values(const std::byte* p) {
    const HalfWords wide = __builtin_convertvector(Load<QuarterShorts>(p), HalfWords) << 16;
    return Widen(reinterpret_cast<HalfFloats>(wide));
  }
  static double Value(uint32_t bits) { return F32::Value(bits << 16); }
};
struct F16 {
  static constexpr int kBytes = 2;
  static constexpr int kSign = 15;
  static constexpr uint32_t kInfinity = 0x7c00, kNormal = 0x0400;
  static PLINTH_INLINE Words Bits(const std::byte* p) { return BF16::Bits(p); }
  static PLINTH_INLINE Reals Values(const std::byte* p) {
    const HalfWords h = __builtin_convertvector(Load<QuarterShorts>(p), HalfWords);
    // Exponent and fraction in a float's places are the number times 2^-112, subnormals included.
    const HalfWords bits = (h & 0x8000) << 16 | (h & 0x7fff) << 13;
    return Widen(reinterpret_cast<HalfFloats>(bits)) * 0x1p112;
  }
  static double Value(uint32_t h) { return F32::Value((h & 0x8000) << 16 | (h & 0x7fff) << 13) * 0x1p112; }
};

// ---- What every block adds to the tally.

int64_t SketchBin(uint64_t bits, int64_t first) {
  const int64_t bin = static_cast<int64_t>(bits >> ErrorSketch::kBinShift) - first;
  return bin < 0 ? 0 : bin > ErrorSketch::kBins - 1 ? ErrorSketch::kBins - 1 : bin;
}

void Record(ErrorSketch* sketch, double abs_a, double abs_d, int base) {
  int row = ErrorSketch::kRows;
  uint64_t* counts = sketch->counts + 2 * int64_t{ErrorSketch::kRows} * ErrorSketch::kBins;
  if (abs_a == 0) {
    ++counts[BitsOf(abs_d) >> ErrorSketch::kBinShift];
  } else {
    row = static_cast<int>(BitsOf(abs_a) >> 52) - base;
    row = row < 0 ? 0 : row > ErrorSketch::kRows - 1 ? ErrorSketch::kRows - 1 : row;
    const double relative = abs_d / abs_a;
    counts = sketch->counts + row * int64_t{ErrorSketch::kBins};
    ++counts[SketchBin(BitsOf(relative), ErrorSketch::kFirstRelative)];
    counts += int64_t{ErrorSketch::kRows} * ErrorSketch::kBins;
    ++counts[SketchBin(BitsOf(abs_d), base * int64_t{16})];
    if (relative > sketch->most_relative[row]) sketch->most_relative[row] = relative;
  }
  sketch->touched[row] = true;
  if (abs_d > sketch->most[row]) sketch->most[row] = abs_d;
}

// `error` holds |b - a| of `n` elements from element `begin` of the tensor on.
void TakeLanes(const DifferPiece& piece, const double* error, int64_t begin, int64_t n, DifferTally* tally) {
  double* lane = tally->lane;
  if (piece.row % kDifferLanes == 0 && n == kDifferBlock) {
    for (int64_t i = 0; i < n; i += kDifferLanes) {
      for (int j = 0; j < kDifferLanes; ++j) lane[j] = error[i + j] > lane[j] ? error[i + j] : lane[j];
    }
  } else {
    int64_t column = begin % piece.row;
    for (int64_t i = 0; i < n; ++i) {
      double& most = lane[column % kDifferLanes];
      if (error[i] > most) most = error[i];
      if (++column == piece.row) column = 0;
    }
  }
  double least = lane[0];
  const int lanes = piece.row < kDifferLanes ? static_cast<int>(piece.row) : kDifferLanes;
  for (int j = 1; j < lanes; ++j) least = lane[j] < least ? lane[j] : least;
  tally->lane_least = least;
}

void TakeTiles(const DifferPiece& piece, const double* error, int64_t begin, int64_t n, double most,
               DifferTally* tally) {
  if (piece.tile % kDifferBlock == 0) {
    double& tile = tally->tile[begin / piece.tile];
    if (most > tile) tile = most;
    return;
  }
  for (int64_t i = 0; i < n; ++i) {
    double& tile = tally->tile[(begin + i) / piece.tile];
    if (error[i] > tile) tile = error[i];
  }
}

// Maxima of a block: worst element, lanes, tiles. `most` is the largest of `error`.
void TakeErrors(const DifferPiece& piece, const double* error, int64_t begin, int64_t n, double most,
                DifferTally* tally) {
  if (!(most > 0)) return;
  // A worker's blocks come in any order: of equal errors the first in the tensor is the worst.
  if (most > tally->max_abs || (most == tally->max_abs && begin < tally->worst)) {
    int64_t i = 0;
    while (error[i] != most) ++i;
    tally->max_abs = most;
    tally->worst = begin + i;
  }
  if (most > tally->lane_least) TakeLanes(piece, error, begin, n, tally);
  TakeTiles(piece, error, begin, n, most, tally);
}

void TakeCanary(const std::byte* data, int64_t n, int bytes, uint64_t pattern, int64_t* count) {
  for (int64_t i = 0; i < n; ++i) {
    *count += __builtin_memcmp(data + i * bytes, &pattern, static_cast<size_t>(bytes)) == 0 ? 1 : 0;
  }
}

// ---- Any type, element by element: the remainder of a tensor, blocks with values that are not finite,
// integers, types that differ.

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
Element1 Byte(const std::byte* p, int fraction_bits, int bias, bool fnuz, bool infinities) {
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

void ReadBlock(Element type, const std::byte* p, int64_t n, Element1* out) {
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
int64_t GridKey(double x, int digits, double smallest_normal) {
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

int UlpBin(double steps) {
  if (steps < 1) return 0;
  const auto whole = steps < 8193 ? static_cast<uint32_t>(steps) : 8193u;
  return whole == 1 ? 1 : 33 - __builtin_clz(whole - 1);
}

void Classify(const Element1& e, SideTally* side) {
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

void Range(double value, SideTally* side) {
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
void TakeSpecial(double a, double b, int64_t index, DifferTally* tally) {
  const bool nan_differs = IsNan(a) != IsNan(b);
  // Both NaN is agreement; the same infinity too.
  const bool inf_differs = !nan_differs && !IsNan(a) && a != b;
  if (!nan_differs && !inf_differs) return;
  ++(nan_differs ? tally->nan_mismatch : tally->inf_mismatch);
  ++tally->unequal;
  ++tally->outside;
  if (tally->first_mismatch < 0 || index < tally->first_mismatch) tally->first_mismatch = index;
}

double StepsBetween(const Pairing& p, const Element1& a, const Element1& b) {
  if (!p.same && p.whole) return Abs(b.value - a.value);
  const int64_t key_a = p.same ? a.key : GridKey(a.value, p.digits, p.smallest_normal);
  const int64_t key_b = p.same ? b.key : GridKey(b.value, p.digits, p.smallest_normal);
  // Modulo 2^64 the distance of keys of any sign is right.
  return static_cast<double>(key_a < key_b ? static_cast<uint64_t>(key_b) - static_cast<uint64_t>(key_a)
                                           : static_cast<uint64_t>(key_a) - static_cast<uint64_t>(key_b));
}

struct Accumulators {
  double a[kSums], d[kSums], aa[kSums], bb[kSums], ab[kSums], dd[kSums];
};

void TakeAny(const DifferPiece& piece, const Pairing& p, const std::byte* at_a, const std::byte* at_b,
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

// ---- Full blocks of the common types.

// What a look at the bits of a block tells.
template <typename Type>
struct BlockBits {
  Words least_a, least_b;              // smallest magnitudes
  Ints low_a, high_a, low_b, high_b;   // smallest and largest keys
  Words steps;                         // most
  Ints positive;                       // minus the count
  Bytes bins[kDifferBlock / kVector];  // of the ULP histogram, in any order

  static PLINTH_INLINE Ints Key(Words bits) {
    const Words magnitude = bits & ((1u << Type::kSign) - 1);
    const Words sign = -(bits >> Type::kSign);  // 0, or all ones
    return reinterpret_cast<Ints>((magnitude ^ sign) - sign);
  }

  PLINTH_INLINE Words Bins(const std::byte* a, const std::byte* b) {
    const Words bits_a = Type::Bits(a), bits_b = Type::Bits(b);
    const Ints key_a = Key(bits_a), key_b = Key(bits_b);
    least_a = Smaller(least_a, bits_a & ((1u << Type::kSign) - 1));
    least_b = Smaller(least_b, bits_b & ((1u << Type::kSign) - 1));
    low_a = Smaller(low_a, key_a), high_a = Larger(high_a, key_a);
    low_b = Smaller(low_b, key_b), high_b = Larger(high_b, key_b);
    const Ints above = key_b > key_a;
    positive += above;
    const auto apart = reinterpret_cast<Words>(key_b) - reinterpret_cast<Words>(key_a);
    const auto flip = reinterpret_cast<Words>(~above);
    const Words distance = (apart ^ flip) - flip;
    steps = Larger(steps, distance);
    // The exponent of 2 d - 1 is that of the bin: 0, 1, 2, 3-4, 5-8 ... The float is exact up to the cap.
    const Words capped = Smaller(distance, Words{} + 16384u);
    const auto twice = reinterpret_cast<Ints>(capped + capped - 1);
    const auto exponent = reinterpret_cast<Ints>(__builtin_convertvector(twice, Floats)) >> 23;
    return reinterpret_cast<Words>(Larger(exponent - 126, Ints{}));
  }

  PLINTH_INLINE void Scan(const std::byte* a, const std::byte* b) {
    least_a = least_b = ~Words{};
    low_a = low_b = Ints{} + INT32_MAX, high_a = high_b = Ints{} + INT32_MIN;
    steps = Words{}, positive = Ints{};
    constexpr int64_t kStep = kWords * Type::kBytes;
    for (int64_t i = 0; i < kDifferBlock / kVector; ++i) {
      const std::byte* p = a + i * 4 * kStep;
      const std::byte* q = b + i * 4 * kStep;
      const Words all = Bins(p, q) | Bins(p + kStep, q + kStep) << 8 |
                        Bins(p + 2 * kStep, q + 2 * kStep) << 16 | Bins(p + 3 * kStep, q + 3 * kStep) << 24;
      bins[i] = reinterpret_cast<Bytes>(all);
    }
  }
};

template <typename V, typename T>
PLINTH_INLINE T Least(V v, T start) {
  for (int i = 0; i < kWords; ++i) start = v[i] < start ? v[i] : start;
  return start;
}
template <typename V, typename T>
PLINTH_INLINE T Most(V v, T start) {
  for (int i = 0; i < kWords; ++i) start = v[i] > start ? v[i] : start;
  return start;
}

template <typename Type>
double KeyValue(int32_t key) {
  return key < 0 ? -Type::Value(static_cast<uint32_t>(-key)) : Type::Value(static_cast<uint32_t>(key));
}

// Zeros and subnormals, only in blocks that hold any.
template <typename Type>
void CountSmall(const std::byte* a, const std::byte* b, DifferTally* tally) {
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

// Adds the block's bins to the histogram; the largest is `top`.
PLINTH_INLINE void CountBins(const Bytes* bins, int top, DifferTally* tally) {
  int64_t others = 0;
  for (int bin = 1; bin <= top; ++bin) {
    Bytes count{};
    for (int64_t i = 0; i < kDifferBlock / kVector; ++i) {
      count -= reinterpret_cast<Bytes>(bins[i] == static_cast<uint8_t>(bin));
    }
    // At most 512 / kVector in a byte: the sums of all bytes in one place fit one.
    Longs pairs;
    __builtin_memcpy(&pairs, &count, sizeof(pairs));
    uint64_t sum = 0;
    for (int i = 0; i < kReals; ++i) sum += static_cast<uint64_t>(pairs[i]);
    // Eight bytes of at most 64 each now.
    sum = (sum & 0x00ff00ff00ff00ff) + (sum >> 8 & 0x00ff00ff00ff00ff);
    const auto found = static_cast<int64_t>((sum * 0x0001000100010001) >> 48);
    tally->ulp[bin] += found;
    others += found;
  }
  tally->ulp[0] += kDifferBlock - others;
  tally->unequal += others;
}

// Gives false, having done nothing, where the block holds anything that is not finite.
template <typename Type>
bool TakeBits(const std::byte* a, const std::byte* b, DifferTally* tally) {
  BlockBits<Type> bits;
  bits.Scan(a, b);
  const int32_t low_a = Least(bits.low_a, INT32_MAX), high_a = Most(bits.high_a, INT32_MIN);
  const int32_t low_b = Least(bits.low_b, INT32_MAX), high_b = Most(bits.high_b, INT32_MIN);
  constexpr auto kInfinity = static_cast<int32_t>(Type::kInfinity);
  if (low_a <= -kInfinity || low_b <= -kInfinity || high_a >= kInfinity || high_b >= kInfinity) return false;
  Range(KeyValue<Type>(low_a), &tally->a), Range(KeyValue<Type>(high_a), &tally->a);
  Range(KeyValue<Type>(low_b), &tally->b), Range(KeyValue<Type>(high_b), &tally->b);
  if (Least(bits.least_a, UINT32_MAX) < Type::kNormal || Least(bits.least_b, UINT32_MAX) < Type::kNormal) {
    CountSmall<Type>(a, b, tally);
  }
  const uint32_t steps = Most(bits.steps, 0u);
  if (steps > tally->max_ulp) tally->max_ulp = steps;
  const int64_t before = tally->unequal;
  CountBins(bits.bins, UlpBin(steps), tally);
  int64_t positive = 0;
  for (int i = 0; i < kWords; ++i) positive -= bits.positive[i];
  tally->positive += positive;
  tally->negative += tally->unequal - before - positive;
  tally->finite += kDifferBlock;
  return true;
}

template <typename Type>
void TakeValues(const DifferPiece& piece, const std::byte* a, const std::byte* b, int64_t begin,
                Accumulators* sums, DifferTally* tally) {
  alignas(64) double error[kDifferBlock];
  alignas(8) uint8_t large[kDifferBlock / 8];
  for (uint8_t& bits : large) bits = 0;
  Reals most{};
  const Reals record_above = Reals{} + piece.record_above;
  // A register's share of the eight sums at a time.
  for (int part = 0; part < kSums; part += kReals) {
    Reals sum_a = Load<Reals>(sums->a + part), sum_d = Load<Reals>(sums->d + part);
    Reals sum_aa = Load<Reals>(sums->aa + part), sum_bb = Load<Reals>(sums->bb + part);
    Reals sum_ab = Load<Reals>(sums->ab + part), sum_dd = Load<Reals>(sums->dd + part);
    for (int64_t i = part; i < kDifferBlock; i += kSums) {
      const Reals x = Type::Values(a + i * Type::kBytes), y = Type::Values(b + i * Type::kBytes);
      const Reals d = y - x, e = Magnitude(d);
      sum_a += x, sum_d += d;
      sum_aa += x * x, sum_bb += y * y, sum_ab += x * y, sum_dd += d * d;
      most = Larger(most, e);
      large[i / 8] = static_cast<uint8_t>(large[i / 8] | Above(e, record_above * Magnitude(x)) << part);
      __builtin_memcpy(error + i, &e, sizeof(e));
    }
    __builtin_memcpy(sums->a + part, &sum_a, kVector), __builtin_memcpy(sums->d + part, &sum_d, kVector);
    __builtin_memcpy(sums->aa + part, &sum_aa, kVector), __builtin_memcpy(sums->bb + part, &sum_bb, kVector);
    __builtin_memcpy(sums->ab + part, &sum_ab, kVector), __builtin_memcpy(sums->dd + part, &sum_dd, kVector);
  }
  double top = 0;
  for (int i = 0; i < kReals; ++i) top = most[i] > top ? most[i] : top;
  for (int64_t w = 0; w < kDifferBlock / 64; ++w) {
    uint64_t mask;
    __builtin_memcpy(&mask, large + 8 * w, 8);
    for (; mask != 0; mask &= mask - 1) {
      const int64_t i = 64 * w + __builtin_ctzll(mask);
      uint32_t bits = 0;
      __builtin_memcpy(&bits, a + i * Type::kBytes, Type::kBytes);
      Record(&tally->sketch, Abs(Type::Value(bits)), error[i], piece.sketch_base);
    }
  }
  if (piece.check_close) {
    for (int64_t i = 0; i < kDifferBlock; ++i) {
      uint32_t bits = 0;
      __builtin_memcpy(&bits, a + i * Type::kBytes, Type::kBytes);
      if (error[i] > piece.atol + piece.rtol * Abs(Type::Value(bits))) ++tally->outside;
    }
  }
  TakeErrors(piece, error, begin, kDifferBlock, top, tally);
}

using BlockFn = bool(const DifferPiece& piece, const std::byte* a, const std::byte* b, int64_t begin,
                     Accumulators* sums, DifferTally* tally);

template <typename Type>
bool TakeBlock(const DifferPiece& piece, const std::byte* a, const std::byte* b, int64_t begin,
               Accumulators* sums, DifferTally* tally) {
  if (!TakeBits<Type>(a, b, tally)) return false;
  TakeValues<Type>(piece, a, b, begin, sums, tally);
  return true;
}

BlockFn* FullBlock(Element element) {
  switch (element) {
    case Element::kF32:
      return &TakeBlock<F32>;
    case Element::kF16:
      return &TakeBlock<F16>;
    case Element::kBF16:
      return &TakeBlock<BF16>;
    default:
      return nullptr;
  }
}

}  // namespace

void DifferOnePiece(const DifferPiece& piece, DifferSums* out, DifferTally* tally) {
  const ElementInfo& a = kElementInfo[static_cast<int>(piece.element_a)];
  const ElementInfo& b = kElementInfo[static_cast<int>(piece.element_b)];
  const ElementInfo& unit = kElementInfo[static_cast<int>(piece.unit_element)];
  const Pairing pairing = {.same = piece.element_a == piece.element_b,
                           .whole = !a.floating && !b.floating,
                           .bytes_a = a.bytes,
                           .bytes_b = b.bytes,
                           .digits = unit.digits,
                           .smallest_normal = unit.smallest_normal};
  BlockFn* full = pairing.same ? FullBlock(piece.element_a) : nullptr;
  Accumulators sums{};
  for (int64_t at = 0; at < piece.count; at += kDifferBlock) {
    const int64_t n = piece.count - at < kDifferBlock ? piece.count - at : kDifferBlock;
    const std::byte* at_a = piece.a + at * a.bytes;
    const std::byte* at_b = piece.b + at * b.bytes;
    if (n < kDifferBlock || full == nullptr || !full(piece, at_a, at_b, piece.begin + at, &sums, tally)) {
      TakeAny(piece, pairing, at_a, at_b, piece.begin + at, n, &sums, tally);
    }
    if (piece.check_canary) {
      TakeCanary(at_a, n, a.bytes, piece.canary, &tally->a.canary);
      TakeCanary(at_b, n, b.bytes, piece.canary, &tally->b.canary);
    }
  }
  *out = {Sum(sums.a), Sum(sums.d), Sum(sums.aa), Sum(sums.bb), Sum(sums.ab), Sum(sums.dd)};
}

}  // namespace plinth::verify::PLINTH_KERNEL_LEVEL
