// Plants each kind of fault into a clean pair and asks for its name; clean pairs must have none.
#include "plinth/verify/diagnosis.h"

#include <cmath>
#include <cstring>
#include <functional>
#include <random>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "plinth/tensor/half.h"
#include "plinth/verify/comparison_line.h"
#include "plinth/verify/fingerprint.h"

namespace plinth::verify {
namespace {

using formats::ConstTensorRef;
using ::testing::HasSubstr;

// A reference in f32 and a candidate with the noise of another order of summation.
struct Pair {
  std::vector<int64_t> dims;
  std::vector<float> a, b;

  explicit Pair(std::vector<int64_t> d, uint64_t seed = 1) : dims(std::move(d)) {
    int64_t n = 1;
    for (const int64_t k : dims) n *= k;
    std::mt19937_64 random(seed);
    std::normal_distribution<float> normal;
    a.resize(static_cast<size_t>(n));
    for (float& x : a) x = normal(random);
    b = a;
    for (float& x : b) x *= 1 + 1e-7f * normal(random);
  }
  static ConstTensorRef Ref(const std::vector<float>& v, const std::vector<int64_t>& dims) {
    return {"x", DType::kF32, dims, reinterpret_cast<const std::byte*>(v.data()),
            static_cast<int64_t>(v.size() * 4)};
  }
  ConstTensorRef ra() const { return Ref(a, dims); }
  ConstTensorRef rb() const { return Ref(b, dims); }
  float& At(int64_t row, int64_t column) { return b[static_cast<size_t>(row * dims.back() + column)]; }

  std::vector<Finding> Findings(const DiagnosisHints& hints = {}) const {
    const auto d = Differ(ra(), rb());
    EXPECT_TRUE(d.ok()) << d.status();
    return Diagnose(ra(), rb(), *d, hints);
  }
  // The first finding, "id: text".
  std::string First(const DiagnosisHints& hints = {}) const {
    const auto findings = Findings(hints);
    return findings.empty() ? "" : StrCat(findings[0].id, ": ", findings[0].text);
  }
  // Whether the default line holds.
  bool Holds() const {
    const auto d = Differ(ra(), rb());
    const double limit = DefaultLimit(Element::kF32);
    std::optional<ErrorPlaces> places;
    if (MayHavePlaces(*d, limit)) places = PlacesOf(ra(), rb(), *d, limit);
    return JudgeByLine(*d, places.has_value() ? &*places : nullptr, *LineFor("", Element::kF32, 1))
        .broken.empty();
  }
};

TEST(Diagnosis, FindsNothingInCleanPairs) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Pair p({static_cast<int64_t>(1 + seed % 40), static_cast<int64_t>(3 + seed * 7 % 300)}, seed);
    // Columns of much larger values, as transformers have them, with errors in proportion.
    if (seed % 3 == 0) {
      for (int64_t r = 0; r < p.dims[0]; ++r) {
        const auto i = static_cast<size_t>(r * p.dims[1] + 2);
        p.a[i] *= 1000, p.b[i] *= 1000;
      }
    }
    EXPECT_EQ(p.First(), "") << seed;
    EXPECT_TRUE(p.Holds()) << seed;
  }
}

TEST(Diagnosis, NamesLanes) {
  Pair p({16, 256});
  for (int64_t r = 0; r < 16; ++r) {
    for (int64_t c = 0; c < 256; ++c) {
      if (c % 64 >= 32) p.At(r, c) *= 1.02f;
    }
  }
  EXPECT_EQ(p.First(), "lanes: lanes 32..63 differ (columns modulo 64)");
  EXPECT_FALSE(p.Holds());
}

TEST(Diagnosis, NamesRowsAndColumns) {
  Pair p({33, 100});
  for (int64_t c = 0; c < 100; ++c) p.At(31, c) *= 1.01f, p.At(32, c) *= 1.01f;
  EXPECT_EQ(p.First(), "last-rows: last rows differ: 31, 32 of 33");
  Pair q({33, 100});
  for (int64_t c = 0; c < 100; ++c) q.At(5, c) *= 1.01f;
  EXPECT_EQ(q.First(), "rows: rows 5 of 33 differ");
  Pair r({33, 100});
  for (int64_t i = 0; i < 33; ++i) r.At(i, 98) *= 0.99f, r.At(i, 99) *= 0.99f;
  EXPECT_EQ(r.First(), "columns: last columns differ: 98, 99 of 100");
}

// One element that the norm of a large tensor hides.
TEST(Diagnosis, NamesASpike) {
  Pair p({1000, 1000});
  p.At(500, 7) += 0.005f;
  const auto d = Differ(p.ra(), p.rb());
  EXPECT_LT(d->rel_l2, 1e-5);
  EXPECT_FALSE(p.Holds());
  EXPECT_EQ(p.First(), "spikes: 1 element stands far out, the first at [500, 7]");
}

TEST(Diagnosis, NamesScaleAndOffset) {
  Pair p({10, 50});
  for (float& x : p.b) x *= 1.8667f;
  EXPECT_THAT(p.First(), HasSubstr("scale: scale 1.87: the candidate is the reference times 1.87 (448/240"));
  const auto d = Differ(p.ra(), p.rb());
  EXPECT_GT(d->cosine, 0.999999999);  // which is what makes a cosine no test
  Pair q({10, 50});
  for (float& x : q.b) x += 0.25f;
  EXPECT_EQ(q.First(), "offset: the candidate is the reference plus 0.25");
}

TEST(Diagnosis, NamesMisplacedValues) {
  Pair p({12, 40});
  for (int64_t c = 0; c < 40; ++c) std::swap(p.At(3, c), p.At(5, c));
  EXPECT_EQ(p.First(),
            "rows-permuted: rows are permuted: row 3 equals row 5 of the reference (2 of 12 moved)");

  Pair t({2, 3, 5, 7});
  for (int64_t n = 0, k = 0; n < 2; ++n) {
    for (int64_t h = 0; h < 5; ++h) {
      for (int64_t w = 0; w < 7; ++w) {
        for (int64_t c = 0; c < 3; ++c, ++k) {
          t.b[static_cast<size_t>(k)] = t.a[static_cast<size_t>(((n * 3 + c) * 5 + h) * 7 + w)];
        }
      }
    }
  }
  EXPECT_EQ(
      t.First(),
      "transposed: transposed layout: holds the reference with its axes in the order [0, 2, 3, 1] (NHWC "
      "where NCHW is said)");

  Pair s({4, 30, 8});
  for (int64_t b = 0; b < 4; ++b) {
    for (int64_t i = 29; i > 0; --i) {
      for (int64_t c = 0; c < 8; ++c)
        s.b[static_cast<size_t>((b * 30 + i) * 8 + c)] = s.a[static_cast<size_t>((b * 30 + i - 1) * 8 + c)];
    }
  }
  EXPECT_EQ(s.First(), "shifted: shifted by 1 along axis 1: index i holds the reference's i - 1");

  Pair old({6, 20}, 9), now({6, 20}, 10);
  now.b = old.a;
  ConstTensorRef before = old.ra();
  before.name = "step 4";
  EXPECT_EQ(now.First({.earlier = {before}}), "stale: stale: equals the reference's step 4");
}

TEST(Diagnosis, NamesLostValues) {
  Pair half({16, 64});
  for (int64_t r = 0; r < 16; ++r) {
    for (int64_t c = 1; c < 64; c += 2) half.At(r, c) = 0;
  }
  EXPECT_EQ(half.First(), "zeros: half of the elements are zero that are not in the reference");
  Pair none({4, 8});
  none.b.assign(32, 0);
  EXPECT_EQ(none.First(), "all-zero: all elements are zero");
  Pair one({4, 8});
  one.b.assign(32, 1.5f);
  EXPECT_EQ(one.First(), "constant: all elements are 1.5");
  Pair nan({4, 8});
  nan.b[9] = NAN;
  EXPECT_EQ(nan.First(),
            "not-finite: 1 of 32 elements are NaN on one side only (the candidate's has more), the first at "
            "[1, 1]");
  Pair fill({8, 8});
  for (size_t i = 56; i < 64; ++i) {
    const uint32_t pattern = 0xdeadbeef;
    std::memcpy(&fill.b[i], &pattern, 4);
  }
  EXPECT_THAT(fill.First(), HasSubstr("unwritten: 8 of 64 elements hold 0xdeadbeef"));
  Pair tiny({8, 64});
  for (size_t i = 0; i < 256; ++i) tiny.a[i] *= 1e-40f, tiny.b[i] = 0;
  EXPECT_THAT(tiny.First(), HasSubstr("subnormals: subnormals are flushed to zero"));
  EXPECT_FALSE(tiny.Holds());
}

TEST(Diagnosis, NamesNarrowArithmetic) {
  // Products with inputs rounded to eleven bits, as TF32 units do, against plain f32.
  std::mt19937_64 random(3);
  std::normal_distribution<float> normal;
  const auto tf32 = [](float x) { return ToFloat(ToHalf(x)); };
  Pair p({48, 48});
  std::vector<float> x(48 * 256), y(256 * 48);
  for (float& v : x) v = normal(random);
  for (float& v : y) v = normal(random);
  for (size_t i = 0; i < 48; ++i) {
    for (size_t j = 0; j < 48; ++j) {
      double exact = 0, narrow = 0;
      for (size_t k = 0; k < 256; ++k) {
        exact += static_cast<double>(x[i * 256 + k]) * y[k * 48 + j];
        narrow += static_cast<double>(tf32(x[i * 256 + k])) * tf32(y[k * 48 + j]);
      }
      p.a[i * 48 + j] = static_cast<float>(exact), p.b[i * 48 + j] = static_cast<float>(narrow);
    }
  }
  EXPECT_THAT(p.First(), HasSubstr("precision: tf32 (or f16) behind f32, on one side: relative L2 error"));
  // The values themselves, whatever the error.
  Pair q({48, 48});
  for (float& v : q.b) v = ToFloat(ToBFloat16(v));
  EXPECT_EQ(q.First(), "precision: the candidate's values are all bf16 numbers: bf16 behind f32");
}

TEST(Fingerprint, TellsLevelsByTheirRounding) {
  EXPECT_EQ(LevelOfError(0), ArithmeticLevel::kExact);
  EXPECT_EQ(LevelOfError(4.7e-17), ArithmeticLevel::kF64);
  for (const double e : {2.5e-8, 1.2e-7, 2.9e-7}) EXPECT_EQ(LevelOfError(e), ArithmeticLevel::kF32);
  for (const double e : {2.1e-4, 2.9e-4, 3.0e-4}) EXPECT_EQ(LevelOfError(e), ArithmeticLevel::kTf32OrF16);
  for (const double e : {1.65e-3, 1.67e-3, 2.47e-3}) EXPECT_EQ(LevelOfError(e), ArithmeticLevel::kBF16);
  for (const double e : {2.7e-2, 5.3e-2}) EXPECT_EQ(LevelOfError(e), ArithmeticLevel::kFp8);
  for (const double e : {0.5, 1.0, static_cast<double>(INFINITY), static_cast<double>(NAN)}) {
    EXPECT_EQ(LevelOfError(e), ArithmeticLevel::kWrong);
  }
}

TEST(Fingerprint, DoesNotTakeSmallIntegersForANarrowType) {
  std::vector<int64_t> dims = {1000};
  std::vector<float> v(1000);
  for (size_t i = 0; i < v.size(); ++i) v[i] = static_cast<float>(i % 2);
  EXPECT_EQ(GridOf(Pair::Ref(v, dims)), std::nullopt);
  for (size_t i = 0; i < v.size(); ++i) v[i] = ToFloat(ToHalf(static_cast<float>(std::sin(i))));
  EXPECT_EQ(GridOf(Pair::Ref(v, dims)), ValueGrid::kF16);
  for (size_t i = 0; i < v.size(); ++i) v[i] *= 1e-20f;
  EXPECT_EQ(GridOf(Pair::Ref(v, dims)), std::nullopt);  // a factor that is no power of two fills the bits
}

TEST(ComparisonLine, KnowsTheClasses) {
  const auto limit = [](std::string_view c, Element e) { return *LineFor(c, e, 4096); };
  EXPECT_EQ(*limit("", Element::kF32).rel_l2, 1e-5);
  EXPECT_EQ(*limit("", Element::kF16).rel_l2, 2e-3);
  EXPECT_EQ(*limit("", Element::kBF16).rel_l2, 1e-2);
  EXPECT_EQ(*limit("", Element::kI32).rel_l2, 0);
  EXPECT_EQ(*limit("A", Element::kF32).unequal, 0);
  EXPECT_EQ(*limit("B", Element::kF16).max_ulp, 1);
  EXPECT_EQ(*limit("C", Element::kF32).max_ulp, 4);
  EXPECT_NEAR(*limit("G", Element::kF32).rel_l2, 3.8e-6, 0.05e-6);
  EXPECT_NEAR(*limit("G", Element::kF16).rel_l2, 4.9e-4, 0.1e-4);
  EXPECT_NEAR(*limit("G", Element::kBF16).rel_l2, 3.9e-3, 0.1e-3);
  EXPECT_EQ(*limit("G'", Element::kF32).rel_l2, 8 * *limit("G", Element::kF32).rel_l2);
  EXPECT_THAT(limit("H", Element::kF32).unproven, HasSubstr("noise band"));
  EXPECT_THAT(limit("K", Element::kF32).unproven, HasSubstr("by distribution"));
  EXPECT_EQ(LineFor("Z", Element::kF32, 1).status().message(),
            "class \"Z\" is unknown; there are A, A', B, C, D, E, F, G, G', H, I, I', J and K");
}

}  // namespace
}  // namespace plinth::verify
