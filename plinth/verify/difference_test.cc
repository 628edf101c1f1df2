// Holds the pass against a plain reference in long double, over random and special data of every type.
#include "plinth/verify/difference.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "gtest/gtest.h"
#include "plinth/base/digest.h"

namespace plinth::verify {
namespace {

using formats::ConstTensorRef;

struct Data {
  Element element;
  std::vector<int64_t> dims;
  std::vector<std::byte> bytes;  // one byte more in front, so that elements are not aligned

  static Data Of(Element element, std::vector<int64_t> dims) {
    int64_t n = 1;
    for (const int64_t d : dims) n *= d;
    return {element, std::move(dims),
            std::vector<std::byte>(static_cast<size_t>(n * InfoOf(element).bytes + 1))};
  }
  int64_t size() const { return (static_cast<int64_t>(bytes.size()) - 1) / InfoOf(element).bytes; }
  ConstTensorRef ref() const {
    const int size = InfoOf(element).bytes;
    const auto index = static_cast<int>(element);
    const DType dtype = index < kDTypes ? static_cast<DType>(index)
                        : size == 8     ? DType::kI64
                        : size == 4     ? DType::kI32
                        : size == 2     ? DType::kI16
                                        : DType::kU8;
    return {"x",
            dtype,
            dims,
            bytes.data() + 1,
            static_cast<int64_t>(bytes.size()) - 1,
            index < kDTypes ? std::string_view() : InfoOf(element).stored};
  }
  void SetBits(int64_t i, uint64_t bits) {
    std::memcpy(bytes.data() + 1 + i * InfoOf(element).bytes, &bits,
                static_cast<size_t>(InfoOf(element).bytes));
  }
  uint64_t Bits(int64_t i) const {
    uint64_t bits = 0;
    std::memcpy(&bits, bytes.data() + 1 + i * InfoOf(element).bytes,
                static_cast<size_t>(InfoOf(element).bytes));
    return bits;
  }
};

// What an element stands for, from the definitions of the formats.
long double Number(Element element, uint64_t bits) {
  const auto floating = [&](int width, int fraction_bits, int bias, bool infinities,
                            bool fnuz) -> long double {
    const uint64_t sign = bits >> (width - 1) & 1;
    const uint64_t fraction = bits & ((1ull << fraction_bits) - 1);
    const int exponent =
        static_cast<int>(bits >> fraction_bits & ((1ull << (width - 1 - fraction_bits)) - 1));
    const int top = (1 << (width - 1 - fraction_bits)) - 1;
    if (fnuz && bits == 1ull << (width - 1)) return NAN;
    if (infinities && exponent == top) return fraction != 0 ? NAN : sign != 0 ? -INFINITY : INFINITY;
    if (!infinities && !fnuz && exponent == top && fraction == (1ull << fraction_bits) - 1) return NAN;
    const long double f = static_cast<long double>(fraction);
    const long double magnitude =
        exponent == 0 ? std::ldexp(f, 1 - bias - fraction_bits)
                      : std::ldexp(f + std::ldexp(1.0L, fraction_bits), exponent - bias - fraction_bits);
    return sign != 0 ? -magnitude : magnitude;
  };
  switch (element) {
    case Element::kF64:
      return floating(64, 52, 1023, true, false);
    case Element::kF32:
      return floating(32, 23, 127, true, false);
    case Element::kF16:
      return floating(16, 10, 15, true, false);
    case Element::kBF16:
      return floating(16, 7, 127, true, false);
    case Element::kF8E4M3:
      return floating(8, 3, 7, false, false);
    case Element::kF8E5M2:
      return floating(8, 2, 15, true, false);
    case Element::kF8E4M3Fnuz:
      return floating(8, 3, 8, false, true);
    case Element::kF8E5M2Fnuz:
      return floating(8, 2, 16, false, true);
    case Element::kF8E8M0:
      return bits == 255 ? NAN : std::ldexp(1.0L, static_cast<int>(bits) - 127);
    case Element::kI64:
      return static_cast<long double>(static_cast<int64_t>(bits));
    case Element::kI32:
      return static_cast<int32_t>(bits);
    case Element::kI16:
      return static_cast<int16_t>(bits);
    case Element::kI8:
      return static_cast<int8_t>(bits);
    case Element::kBool:
      return bits != 0 ? 1 : 0;
    default:
      return static_cast<long double>(bits);
  }
}

// The statistics, one after the other, in long double.
struct Plain {
  int64_t nan_a = 0, inf_a = 0, zero_a = 0, sub_a = 0, zero_b = 0, sub_b = 0;
  int64_t finite = 0, nan_mismatch = 0, inf_mismatch = 0, first = -1, unequal = 0, zero_sign = 0, worst = -1;
  long double max_abs = 0, aa = 0, bb = 0, ab = 0, dd = 0, d = 0, a = 0, min_b = INFINITY, max_b = -INFINITY;
  int64_t positive = 0, negative = 0, outside = 0;
  std::vector<long double> relative;
  long double lane[64] = {};
  double p99 = 0, p999 = 0, max_rel = 0;
};

long double Quantile(std::vector<long double>& sorted, double share) {
  const auto n = static_cast<double>(sorted.size());
  return sorted.empty() ? 0 : sorted[static_cast<size_t>(std::ceil(share * n)) - 1];
}

Plain Reference(const Data& a, const Data& b, double floor, const Closeness& close) {
  Plain p;
  const int64_t row = a.dims.empty() ? 1 : a.dims.back();
  for (int64_t i = 0; i < a.size(); ++i) {
    const long double x = Number(a.element, a.Bits(i)), y = Number(b.element, b.Bits(i));
    const auto subnormal = [](Element e, long double v) {
      return InfoOf(e).floating && e != Element::kF8E8M0 && v != 0 && std::abs(v) < InfoOf(e).smallest_normal;
    };
    p.nan_a += std::isnan(x), p.inf_a += std::isinf(x);
    p.zero_a += x == 0, p.zero_b += y == 0;
    p.sub_a += subnormal(a.element, x), p.sub_b += subnormal(b.element, y);
    if (!std::isfinite(x) || !std::isfinite(y)) {
      const bool nan = std::isnan(x) != std::isnan(y);
      const bool inf = !nan && !std::isnan(x) && x != y;
      p.nan_mismatch += nan, p.inf_mismatch += inf;
      if ((nan || inf) && p.first < 0) p.first = i;
      p.unequal += nan || inf, p.outside += nan || inf;
      continue;
    }
    ++p.finite;
    const long double d = y - x;
    p.min_b = std::min(p.min_b, y), p.max_b = std::max(p.max_b, y);
    p.unequal += d != 0, p.positive += d > 0, p.negative += d < 0;
    p.zero_sign += x == 0 && y == 0 && std::signbit(x) != std::signbit(y);
    p.a += x, p.d += d, p.aa += x * x, p.bb += y * y, p.ab += x * y, p.dd += d * d;
    const long double e = std::abs(d);
    if (e > p.max_abs) p.max_abs = e, p.worst = i;
    p.lane[i % row % 64] = std::max(p.lane[i % row % 64], e);
    p.relative.push_back(e == 0 ? 0 : e / std::max(std::abs(x), static_cast<long double>(floor)));
    p.outside +=
        e > static_cast<long double>(close.atol) + static_cast<long double>(close.rtol) * std::abs(x);
  }
  std::sort(p.relative.begin(), p.relative.end());
  if (!p.relative.empty()) {
    p.p99 = static_cast<double>(Quantile(p.relative, 0.99));
    p.p999 = static_cast<double>(Quantile(p.relative, 0.999));
    p.max_rel = static_cast<double>(p.relative.back());
  }
  return p;
}

std::vector<Isa> Levels() {
  std::vector<Isa> levels = {Isa::kV2};
  const auto best = HardwareIsa();
  if (best.ok() && *best >= Isa::kV3) levels.push_back(Isa::kV3);
  if (best.ok() && *best >= Isa::kV4) levels.push_back(Isa::kV4);
  return levels;
}

void ExpectNear(long double found, long double expected, long double slack, const char* what) {
  EXPECT_TRUE(found == expected || std::abs(found - expected) <= slack)
      << what << ": " << static_cast<double>(found) << " against " << static_cast<double>(expected);
}

void Check(const Difference& d, const Plain& p, const Data& a, const std::string& what) {
  SCOPED_TRACE(what);
  const auto n = static_cast<long double>(a.size());
  EXPECT_EQ(d.count, a.size());
  EXPECT_EQ(d.finite_both, p.finite);
  EXPECT_EQ(d.a.nan, p.nan_a);
  EXPECT_EQ(d.a.pos_inf + d.a.neg_inf, p.inf_a);
  EXPECT_EQ(d.a.zero, p.zero_a);
  EXPECT_EQ(d.b.zero, p.zero_b);
  EXPECT_EQ(d.a.subnormal, p.sub_a);
  EXPECT_EQ(d.b.subnormal, p.sub_b);
  EXPECT_EQ(d.nan_mismatch, p.nan_mismatch);
  EXPECT_EQ(d.inf_mismatch, p.inf_mismatch);
  EXPECT_EQ(d.first_mismatch, p.first);
  EXPECT_EQ(d.zero_sign_mismatch, p.zero_sign);
  EXPECT_EQ(d.unequal, p.unequal);
  EXPECT_EQ(d.outside, p.outside);
  EXPECT_EQ(d.worst, p.worst);
  EXPECT_EQ(d.max_abs, static_cast<double>(p.max_abs));
  if (p.finite > 0) {
    EXPECT_EQ(d.b.min, static_cast<double>(p.min_b));
    EXPECT_EQ(d.b.max, static_cast<double>(p.max_b));
  }
  const long double changed = p.positive + p.negative;
  ExpectNear(d.balance, changed == 0 ? 0 : (p.positive - p.negative) / changed, 1e-15L, "balance");
  // Sums of n terms in double: n roundings of at most 2^-53 of the sum of magnitudes each, far fewer in eight
  // lanes.
  const long double u = 0x1p-53L * (n / 8 + 16);
  ExpectNear(d.l2, std::sqrt(p.dd), u * std::sqrt(p.dd), "l2");
  ExpectNear(d.a.l2, std::sqrt(p.aa), u * std::sqrt(p.aa), "l2 of a");
  ExpectNear(d.b.l2, std::sqrt(p.bb), u * std::sqrt(p.bb), "l2 of b");
  const long double count = std::max<long double>(static_cast<long double>(p.finite), 1);
  ExpectNear(d.mean_error, p.d / count, u * std::sqrt(p.dd / count), "bias");
  ExpectNear(d.a.mean, p.a / count, u * std::sqrt(p.aa / count), "mean of a");
  if (p.aa > 0) ExpectNear(d.rel_l2, std::sqrt(p.dd / p.aa), 2 * u * std::sqrt(p.dd / p.aa), "relative L2");
  if (p.aa > 0 && p.bb > 0) {
    ExpectNear(d.cosine, p.ab / std::sqrt(p.aa * p.bb), 4 * u, "cosine");
    const long double sine2 = (p.aa * p.bb - p.ab * p.ab) / (p.aa * p.bb);
    if (sine2 > 1e-12L)
      ExpectNear(d.implied_rel_l2, std::sqrt(sine2), 1e-6L * std::sqrt(sine2) + u, "implied");
  }
  // Half a bin of one sixteenth of a power of two: 1/32 of the lower edge.
  if (InfoOf(a.element).floating && p.aa > 0) {
    const double most = d.a.rms * std::min(InfoOf(d.unit_element).unit, 0x1p-8);
    EXPECT_LE(d.floor, most);
    EXPECT_GT(d.floor * 2, most);
  }
  if (std::isfinite(p.p99)) ExpectNear(d.p99_rel, p.p99, p.p99 / 30, "p99");
  if (std::isfinite(p.p999)) ExpectNear(d.p999_rel, p.p999, p.p999 / 30, "p99.9");
  if (std::isfinite(p.max_rel))
    ExpectNear(d.max_rel, p.max_rel, 1e-15L * p.max_rel, "largest relative error");
  for (size_t i = 0; i < 64; ++i) EXPECT_EQ(d.lane_max[i], static_cast<double>(p.lane[i])) << i;
  int64_t histogram = 0;
  for (const int64_t bin : d.ulp_histogram) histogram += bin;
  EXPECT_EQ(histogram, p.finite);
  double tiles = 0;
  for (const double tile : d.tile_max) tiles = std::max(tiles, tile);
  EXPECT_EQ(tiles, d.max_abs);
  EXPECT_LE(d.tile_max.size(), 64u);
}

// Compares at every level and with threads; all must give the same bits, and what the reference gives.
void CheckPair(const Data& a, const Data& b, const std::string& what) {
  const Closeness close = {1e-3, 1e-2};
  std::optional<Difference> first;
  Threads threads(3);
  for (const Isa isa : Levels()) {
    for (Threads* use : {static_cast<Threads*>(nullptr), &threads}) {
      const auto d = Differ(a.ref(), b.ref(), {.close = close, .threads = use, .isa = isa});
      ASSERT_TRUE(d.ok()) << d.status();
      if (!first.has_value()) {
        first = *d;
        Check(*d, Reference(a, b, d->floor, close), a, what);
        continue;
      }
      SCOPED_TRACE(StrCat(what, " at ", IsaName(isa)));
      EXPECT_EQ(std::bit_cast<uint64_t>(d->l2), std::bit_cast<uint64_t>(first->l2));
      EXPECT_EQ(std::bit_cast<uint64_t>(d->cosine), std::bit_cast<uint64_t>(first->cosine));
      EXPECT_EQ(std::bit_cast<uint64_t>(d->mean_error), std::bit_cast<uint64_t>(first->mean_error));
      EXPECT_EQ(d->worst, first->worst);
      EXPECT_EQ(d->p99_rel, first->p99_rel);
      EXPECT_EQ(d->max_rel, first->max_rel);
      EXPECT_EQ(d->ulp_histogram, first->ulp_histogram);
      EXPECT_EQ(d->max_ulp, first->max_ulp);
      EXPECT_EQ(d->lane_max, first->lane_max);
      EXPECT_EQ(d->tile_max, first->tile_max);
      EXPECT_EQ(d->unequal, first->unequal);
      EXPECT_EQ(d->outside, first->outside);
      EXPECT_EQ(d->zero_sign_mismatch, first->zero_sign_mismatch);
      EXPECT_EQ(d->b.subnormal, first->b.subnormal);
    }
  }
}

// Bits of a number near `x`, by search over no table: conversion through float for the usual types.
uint64_t BitsNear(Element element, double x) {
  switch (element) {
    case Element::kF64:
      return std::bit_cast<uint64_t>(x);
    case Element::kF32:
      return std::bit_cast<uint32_t>(static_cast<float>(x));
    case Element::kBF16:
      return std::bit_cast<uint32_t>(static_cast<float>(x)) >> 16;
    case Element::kF16: {
      const uint32_t f = std::bit_cast<uint32_t>(static_cast<float>(x * 0x1p-112));
      return (f >> 16 & 0x8000) | (f >> 13 & 0x7fff);
    }
    default:
      return static_cast<uint64_t>(static_cast<int64_t>(x * 50));
  }
}

constexpr Element kAll[] = {Element::kF64,        Element::kF32,    Element::kF16,    Element::kBF16,
                            Element::kI64,        Element::kI32,    Element::kI16,    Element::kI8,
                            Element::kU8,         Element::kBool,   Element::kU16,    Element::kU32,
                            Element::kU64,        Element::kF8E4M3, Element::kF8E5M2, Element::kF8E4M3Fnuz,
                            Element::kF8E5M2Fnuz, Element::kF8E8M0};

TEST(Difference, SubnormalsOfATypeOfAnotherRangeAreLostOnlyToZero) {
  Difference d;
  d.a.subnormal = 2046, d.b.subnormal = 3;
  EXPECT_EQ(d.subnormals_kept(), 3);
  d.element_a = Element::kF16, d.element_b = Element::kF64;
  EXPECT_EQ(d.subnormals_kept(), 2046);
  d.a.zero = 2, d.b.zero = 2048;
  EXPECT_EQ(d.subnormals_kept(), 0);
  d.b.zero = 0;
  EXPECT_EQ(d.subnormals_kept(), 2046);
}

TEST(Difference, AgreesWithThePlainReferenceOnNormalData) {
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal;
  for (const Element element : kAll) {
    for (const auto& dims :
         std::vector<std::vector<int64_t>>{{7, 640}, {3, 1000}, {20, 2048}, {1}, {}, {600, 5}}) {
      Data a = Data::Of(element, dims), b = a;
      for (int64_t i = 0; i < a.size(); ++i) {
        const double x = normal(random);
        a.SetBits(i, BitsNear(element, x));
        b.SetBits(i, BitsNear(element, x * (1 + 0.01 * normal(random))));
      }
      CheckPair(a, b, StrCat(InfoOf(element).name, " normal ", a.size()));
    }
  }
}

// Every pattern of bits: NaN, infinities, subnormals, both zeros, among others.
TEST(Difference, AgreesWithThePlainReferenceOnAnyBits) {
  std::mt19937_64 random(2);
  for (const Element element : kAll) {
    // Differences of 64-bit numbers beyond 2^53 are rounded twice in the reference's own sums.
    const uint64_t mask = element == Element::kI64 || element == Element::kU64 ? 0xffffffffffull : ~0ull;
    for (const int64_t n : {5, 512, 3000}) {
      Data a = Data::Of(element, {n}), b = a;
      for (int64_t i = 0; i < n; ++i) {
        uint64_t bits = random() & mask;
        // Magnitudes of f64 and f32 within a range whose squares a double holds.
        uint64_t other = i % 3 == 0 ? random() & mask : bits ^ (i % 5 == 0 ? 1 : 0);
        if (element == Element::kF64) {
          bits = (bits & ~(0x7ffull << 52)) | (1000 + bits % 47) << 52;
          other = (other & ~(0x7ffull << 52)) | (1000 + bits % 47) << 52;
        }
        a.SetBits(i, bits);
        b.SetBits(i, other);
      }
      if (element == Element::kF64) a.SetBits(0, 0x7ff0000000000000), b.SetBits(0, 0x7ff8000000000000);
      CheckPair(a, b, StrCat(InfoOf(element).name, " bits ", n));
    }
  }
}

TEST(Difference, AgreesWithThePlainReferenceOnTwoTypes) {
  std::mt19937_64 random(5);
  std::normal_distribution<double> normal;
  for (const auto& [of_a, of_b] : std::vector<std::pair<Element, Element>>{{Element::kF64, Element::kF32},
                                                                           {Element::kF32, Element::kF64},
                                                                           {Element::kF64, Element::kBF16},
                                                                           {Element::kF32, Element::kBF16},
                                                                           {Element::kF16, Element::kF32},
                                                                           {Element::kBF16, Element::kF16},
                                                                           {Element::kI32, Element::kF32},
                                                                           {Element::kI8, Element::kI32},
                                                                           {Element::kU16, Element::kI64}}) {
    Data a = Data::Of(of_a, {5, 640}), b = Data::Of(of_b, {5, 640});
    for (int64_t i = 0; i < a.size(); ++i) {
      const double x = std::abs(i % 11 == 0 ? 0 : normal(random));
      a.SetBits(i, BitsNear(of_a, x));
      b.SetBits(i, BitsNear(of_b, x * (1 + 0.01 * normal(random))));
    }
    CheckPair(a, b, StrCat(InfoOf(of_a).name, " against ", InfoOf(of_b).name));
  }
  // 1 against the next number but one of f32, and a double half a step off it.
  Data a = Data::Of(Element::kF64, {600}), b = Data::Of(Element::kF32, {600});
  for (int64_t i = 0; i < 600; ++i) a.SetBits(i, std::bit_cast<uint64_t>(1.0)), b.SetBits(i, 0x3f800000);
  b.SetBits(7, 0x3f800002);
  b.SetBits(8, 0xbf800000);
  const auto d = Differ(a.ref(), b.ref());
  ASSERT_TRUE(d.ok());
  EXPECT_EQ(d->max_ulp, 2.0 * 0x3f800000);
  EXPECT_EQ(d->ulp_histogram[2], 1);
  EXPECT_EQ(d->ulp_histogram[0], 598);
}

TEST(Difference, AgreesWithThePlainReferenceOnEqualBits) {
  std::mt19937_64 random(6);
  for (const Element element : kAll) {
    const uint64_t mask = element == Element::kI64 || element == Element::kU64 ? 0xffffffffffull : ~0ull;
    Data a = Data::Of(element, {7, 512});
    for (int64_t i = 0; i < a.size(); ++i) {
      uint64_t bits = random() & mask;
      if (element == Element::kF64) bits = (bits & ~(0x7ffull << 52)) | (1000 + bits % 47) << 52;
      // Blocks without NaN, with zeros of both signs, and with anything.
      const int bytes = InfoOf(element).bytes;
      if (i < 1024) bits = BitsNear(element, 0.01 * static_cast<double>(i % 512));
      if (i >= 1024 && i < 1536) bits = i % 2 == 0 ? 0 : 1ull << (8 * bytes - 1);
      a.SetBits(i, bits);
    }
    CheckPair(a, a, StrCat(InfoOf(element).name, " equal"));
    Data b = a;
    b.SetBits(600, a.Bits(601));
    CheckPair(a, b, StrCat(InfoOf(element).name, " all but one equal"));
  }
}

// A block with NaN goes element by element; what is finite in it counts as in any other.
TEST(Difference, BlocksThatAreNotFiniteCountTheRestAlike) {
  std::mt19937_64 random(7);
  std::normal_distribution<double> normal;
  for (const Element element : {Element::kF64, Element::kF32, Element::kF16, Element::kBF16}) {
    Data a = Data::Of(element, {4, 2048}), b = a;
    for (int64_t i = 0; i < a.size(); ++i) {
      const double x = normal(random);
      const bool nothing = i % 512 == 0;
      a.SetBits(i, nothing ? 0 : BitsNear(element, x));
      b.SetBits(i,
                nothing ? 0 : BitsNear(element, x * (1 + 0.003 * normal(random)) * (i % 97 == 0 ? -1 : 1)));
    }
    Data a_nan = a, b_nan = b;
    for (int64_t i = 0; i < a.size(); i += 512) {
      const uint64_t nan = element == Element::kF64   ? 0x7ff8ull << 48
                           : element == Element::kF32 ? 0x7fc00000
                                                      : 0x7fc0;
      a_nan.SetBits(i, nan), b_nan.SetBits(i, nan);
    }
    for (const Isa isa : Levels()) {
      const auto whole = Differ(a.ref(), b.ref(), {.isa = isa});
      const auto holed = Differ(a_nan.ref(), b_nan.ref(), {.isa = isa});
      ASSERT_TRUE(whole.ok() && holed.ok());
      SCOPED_TRACE(StrCat(InfoOf(element).name, " at ", IsaName(isa)));
      EXPECT_EQ(holed->a.nan, 16);
      EXPECT_EQ(holed->nan_both(), 16);
      EXPECT_EQ(holed->finite_both + 16, whole->finite_both);
      EXPECT_EQ(holed->l2, whole->l2);
      EXPECT_EQ(holed->a.l2, whole->a.l2);
      EXPECT_EQ(holed->cosine, whole->cosine);
      EXPECT_EQ(holed->unequal, whole->unequal);
      EXPECT_EQ(holed->balance, whole->balance);
      EXPECT_EQ(holed->max_ulp, whole->max_ulp);
      EXPECT_EQ(holed->worst, whole->worst);
      EXPECT_EQ(holed->lane_max, whole->lane_max);
      EXPECT_EQ(holed->tile_max, whole->tile_max);
      EXPECT_EQ(holed->max_rel, whole->max_rel);
      auto histogram = holed->ulp_histogram;
      histogram[0] += 16;
      EXPECT_EQ(histogram, whole->ulp_histogram);
    }
  }
}

double Steps(Element element, uint64_t a, uint64_t b) {
  Data x = Data::Of(element, {600}), y = x;  // a full block and a remainder
  for (int64_t i = 0; i < 600; ++i) x.SetBits(i, a), y.SetBits(i, a);
  y.SetBits(3, b), y.SetBits(599, b);
  const auto d = Differ(x.ref(), y.ref());
  EXPECT_TRUE(d.ok());
  int64_t last = 15;
  while (last > 0 && d->ulp_histogram[static_cast<size_t>(last)] == 0) --last;
  EXPECT_EQ(d->ulp_histogram[static_cast<size_t>(last)], last == 0 ? 600 : 2);
  int64_t bin = 0;
  if (d->max_ulp >= 1) bin = d->max_ulp == 1 ? 1 : static_cast<int64_t>(std::ceil(std::log2(d->max_ulp))) + 1;
  EXPECT_EQ(last, std::min<int64_t>(bin, 15)) << d->max_ulp;
  return d->max_ulp;
}

// Large errors exactly where the sample looks: what it suggests to record does not hold the quantiles, and
// the tensor is read again.
TEST(Difference, SurvivesASampleThatMisleads) {
  std::mt19937_64 random(4);
  std::normal_distribution<double> normal;
  Data a = Data::Of(Element::kF32, {200, 2048}), b = a;
  for (int64_t i = 0; i < a.size(); ++i) {
    const double x = normal(random);
    a.SetBits(i, BitsNear(Element::kF32, x));
    b.SetBits(i, BitsNear(Element::kF32, x * (1 + 1e-6 * normal(random))));
  }
  const int64_t apart = a.size() / 128;
  for (int64_t run = 0; run < 10; ++run) {
    const int64_t begin = run * apart + run * 7919 % (apart - 63);
    for (int64_t i = begin; i < begin + 64; ++i) b.SetBits(i, a.Bits(i) ^ 0x00200000);
  }
  CheckPair(a, b, "misled");
}

// Squares that no double holds, above and below.
TEST(Difference, TakesValuesWhoseSquaresOverflow) {
  for (const double size : {1e300, 1e-300, 5e-320}) {
    Data a = Data::Of(Element::kF64, {700}), b = a;
    for (int64_t i = 0; i < 700; ++i) {
      a.SetBits(i, BitsNear(Element::kF64, size * static_cast<double>(1 + i % 7)));
      b.SetBits(i, BitsNear(Element::kF64, size * static_cast<double>(1 + i % 7) * (i == 9 ? 1.5 : 1)));
    }
    const auto d = Differ(a.ref(), b.ref());
    ASSERT_TRUE(d.ok());
    // 100 each of 1 to 7: the sum of squares is 14000; element 9 is 3 and becomes 4.5.
    EXPECT_NEAR(d->rel_l2, 1.5 / std::sqrt(14000), size < 1e-310 ? 1e-4 : 1e-15) << size;
    EXPECT_NEAR(d->max_abs / size, 1.5, 1e-4);
    EXPECT_NEAR(d->max_rel, 0.5, 1e-4);
    EXPECT_EQ(d->unequal, 1);
  }
}

TEST(Difference, CountsUnitsInTheLastPlace) {
  EXPECT_EQ(Steps(Element::kF32, 0x3f800000, 0x3f800001), 1);
  EXPECT_EQ(Steps(Element::kF32, 0x3f800000, 0x3f7fffff), 1);
  EXPECT_EQ(Steps(Element::kF32, 0x00000001, 0x80000001), 2);
  EXPECT_EQ(Steps(Element::kF32, 0x00000000, 0x80000000), 0);
  EXPECT_EQ(Steps(Element::kF32, 0x7f7fffff, 0xff7fffff), 2.0 * 0x7f7fffff);
  for (const uint64_t k : {2, 3, 4, 5, 8, 9, 16, 17, 4096, 4097, 8192, 8193, 16384, 16385, 100000}) {
    EXPECT_EQ(Steps(Element::kF32, 0x3f800000, 0x3f800000 + k), static_cast<double>(k));
    EXPECT_EQ(Steps(Element::kI32, 100, 100 + k), static_cast<double>(k));
  }
  EXPECT_EQ(Steps(Element::kF16, 0x3c00, 0x3c05), 5);
  EXPECT_EQ(Steps(Element::kBF16, 0x3f80, 0xbf80), 2 * 0x3f80);
  EXPECT_EQ(Steps(Element::kF64, 0x3ff0000000000000, 0x3ff0000000000007), 7);
  EXPECT_EQ(Steps(Element::kF8E4M3, 0x38, 0x39), 1);
  EXPECT_EQ(Steps(Element::kI64, 0x7fffffffffffffff, 0x8000000000000000), 0x1p64);
  EXPECT_EQ(Steps(Element::kU64, 0x7fffffffffffffff, 0x8000000000000000), 1);
}

}  // namespace
}  // namespace plinth::verify
