// Calibrates class G: products simulated in each arithmetic, added up in two orders, must never fail, and the
// next coarser arithmetic must.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "plinth/base/random.h"
#include "plinth/tensor/half.h"
#include "plinth/verify/placed.h"
#include "plinth/verify/rules.h"

namespace plinth::verify {
namespace {

constexpr int64_t kSide = 48;

// How the inputs are rounded before they are multiplied, and the result after the sums in f32.
enum class Rounding : uint8_t { kNone, kTf32, kF16, kBF16 };

float Round(Rounding rounding, float x) {
  switch (rounding) {
    case Rounding::kTf32: {
      const uint32_t u = std::bit_cast<uint32_t>(x);
      return std::bit_cast<float>((u + 0xfffu + ((u >> 13) & 1u)) & ~0x1fffu);
    }
    case Rounding::kF16:
      return ToFloat(ToHalf(x));
    case Rounding::kBF16:
      return ToFloat(ToBFloat16(x));
    case Rounding::kNone:
      break;
  }
  return x;
}

struct Inputs {
  int64_t terms;
  std::vector<float> a, b;  // [side][terms] each
};

Inputs MakeInputs(int64_t terms, DType stored, uint64_t seed) {
  Random random(seed);
  Inputs in{terms, std::vector<float>(static_cast<size_t>(kSide * terms)), {}};
  in.b = in.a;
  const Rounding rounding = stored == DType::kF16    ? Rounding::kF16
                            : stored == DType::kBF16 ? Rounding::kBF16
                                                     : Rounding::kNone;
  for (float& x : in.a) x = Round(rounding, static_cast<float>(random.Normal()));
  for (float& x : in.b) x = Round(rounding, static_cast<float>(random.Normal()));
  return in;
}

// Sums in f32 over `lanes` partial sums in each of `parts` pieces of K, then lanes pairwise, then pieces in
// order.
float Dot(const float* a, const float* b, int64_t terms, int64_t lanes, int64_t parts) {
  float total = 0;
  const int64_t length = terms / parts;
  std::vector<float> sums(static_cast<size_t>(lanes));
  for (int64_t part = 0; part < parts; ++part) {
    std::fill(sums.begin(), sums.end(), 0.0F);
    for (int64_t k = part * length; k < (part + 1) * length; ++k) {
      float& sum = sums[static_cast<size_t>(k % lanes)];
      sum = sum + a[k] * b[k];
    }
    for (int64_t width = lanes / 2; width > 0; width /= 2) {
      for (int64_t i = 0; i < width; ++i)
        sums[static_cast<size_t>(i)] += sums[static_cast<size_t>(i + width)];
    }
    total += sums[0];
  }
  return total;
}

// A product as stored in one type.
class Product {
 public:
  Product(Inputs in, DType stored, int64_t lanes, int64_t parts, Rounding inputs, Rounding through)
      : stored_(stored), bytes_(static_cast<size_t>(kSide * kSide * SizeOf(stored))) {
    for (float& x : in.a) x = Round(inputs, x);
    for (float& x : in.b) x = Round(inputs, x);
    for (int64_t i = 0; i < kSide * kSide; ++i) {
      const float* a = in.a.data() + i / kSide * in.terms;
      const float* b = in.b.data() + i % kSide * in.terms;
      double value = 0;
      if (stored == DType::kF64) {
        for (int64_t k = 0; k < in.terms; ++k) value += double{a[k]} * double{b[k]};
      } else {
        value = Round(through, Dot(a, b, in.terms, lanes, parts));
      }
      StoreElement(stored, bytes_.data() + i * SizeOf(stored), value);
    }
  }
  formats::ConstTensorRef ref() const {
    static constexpr int64_t kDims[] = {kSide, kSide};
    return {.name = "y",
            .dtype = stored_,
            .dims = kDims,
            .data = bytes_.data(),
            .bytes = static_cast<int64_t>(bytes_.size())};
  }

 private:
  DType stored_;
  std::vector<std::byte> bytes_;
};

struct Arithmetic {
  std::string_view name;
  DType stored;
  Rounding inputs;
  // What spoils it: other roundings of inputs and result.
  Rounding spoilt_inputs, spoilt_result;
  // The class's limit divided by this must still be above the natural level.
  double margin;
};

std::vector<double> Norms(const std::vector<float>& x, int64_t terms) {
  std::vector<double> norms(static_cast<size_t>(kSide));
  for (size_t i = 0; i < norms.size(); ++i) {
    double sum = 0;
    for (int64_t k = 0; k < terms; ++k)
      sum += std::pow(double{x[i * static_cast<size_t>(terms) + static_cast<size_t>(k)]}, 2);
    norms[i] = std::sqrt(sum);
  }
  return norms;
}

TEST(NaturalLevels, NeverFailAndTheNextCoarserArithmeticDoes) {
  const auto rules = RuleSet::Builtin();
  ASSERT_TRUE(rules.ok());
  // Margins: facts measured 13 (3 for a purely serial sum), 1.7, 2.3, 2.3.
  const Arithmetic kArithmetics[] = {
      {"f32", DType::kF32, Rounding::kNone, Rounding::kTf32, Rounding::kNone, 3},
      {"tf32", DType::kF32, Rounding::kTf32, Rounding::kBF16, Rounding::kNone, 1.6},
      {"f16", DType::kF16, Rounding::kNone, Rounding::kBF16, Rounding::kNone, 2.1},
      {"bf16", DType::kBF16, Rounding::kNone, Rounding::kNone, Rounding::kNone, 2.1},
  };
  for (const Arithmetic& one : kArithmetics) {
    for (const int64_t terms : {64, 512, 4096}) {
      for (uint64_t seed = 1; seed <= (terms == 4096 ? 1u : 4u); ++seed) {
        const Inputs in = MakeInputs(terms, one.stored, seed);
        const Product r(in, DType::kF64, 1, 1, Rounding::kNone, Rounding::kNone);
        const auto product = [&](int64_t lanes, int64_t parts) {
          return Product(in, one.stored, lanes, parts, one.inputs, Rounding::kNone);
        };
        const Product n = product(16, 1), d = product(64, 4);
        // The incumbent's other kernels.
        const Product other[] = {product(8, 1), product(32, 1), product(16, 2), product(4, 1)};
        std::vector<BandRun> runs = {{"kernel", {{"y", n.ref()}}}};
        for (const Product& p : other) runs.push_back({"kernel", {{"y", p.ref()}}});
        const auto band = MakeBand(runs);
        ASSERT_TRUE(band.ok()) << band.status();
        const std::vector<double> rows = Norms(in.a, terms), columns = Norms(in.b, terms);
        for (const bool with_scale : {true, false}) {
          TensorsToJudge t{.op = "matmul",
                           .class_name = "",
                           .candidate = d.ref(),
                           .truth = r.ref(),
                           .incumbent = n.ref(),
                           .band = band->Find("y"),
                           .canary = {},
                           .arithmetic = one.name};
          t.cap.terms = static_cast<double>(terms);
          if (with_scale) t.cap.scale.rows = rows, t.cap.scale.columns = columns;
          const auto clean = JudgeTensors(*rules, t);
          ASSERT_TRUE(clean.ok()) << clean.status();
          EXPECT_NE(clean->verdict.verdict, Verdict::kFail)
              << one.name << " K " << terms << ": " << clean->verdict.reason;
          EXPECT_EQ(clean->verdict.rules[2].state, RuleState::kHolds) << clean->verdict.reason;
          const Limit& limit = rules->Find("G")->limit(*NumberTypeOf(one.name));
          const double most = limit.fixed + limit.grown * std::sqrt(static_cast<double>(terms));
          EXPECT_LT(clean->truth->rel_l2 * one.margin, most) << one.name << " K " << terms;
          if (one.name == "bf16") continue;
          const Product bad(in, one.stored, 64, 4, one.spoilt_inputs, one.spoilt_result);
          t.candidate = bad.ref();
          const auto spoilt = JudgeTensors(*rules, t);
          ASSERT_TRUE(spoilt.ok());
          EXPECT_EQ(spoilt->verdict.verdict, Verdict::kFail) << one.name << " K " << terms;
          EXPECT_EQ(spoilt->verdict.rules[1].state, RuleState::kBroken) << spoilt->verdict.rules[1].detail;
          // The incumbent in the coarser arithmetic, too, is no excuse.
          t.incumbent = bad.ref();
          t.band = nullptr;
          EXPECT_EQ(JudgeTensors(*rules, t)->verdict.verdict, Verdict::kFail) << one.name;
        }
      }
    }
  }
}

TEST(NaturalLevels, ATruncatingAccumulatorShowsAsBias) {
  const auto rules = RuleSet::Builtin();
  ASSERT_TRUE(rules.ok());
  const Inputs in = MakeInputs(512, DType::kBF16, 9);
  Inputs positive = in;
  for (float& x : positive.a) x = std::abs(x);
  for (float& x : positive.b) x = std::abs(x);
  const Product r(positive, DType::kF64, 1, 1, Rounding::kNone, Rounding::kNone);
  const Product n(positive, DType::kBF16, 16, 1, Rounding::kNone, Rounding::kNone);
  // Cut instead of rounded when stored.
  std::vector<std::byte> cut(static_cast<size_t>(kSide * kSide * 2));
  for (int64_t i = 0; i < kSide * kSide; ++i) {
    const float x = static_cast<float>(LoadElement(DType::kF64, r.ref().data + i * 8));
    StoreElement(DType::kBF16, cut.data() + i * 2,
                 std::bit_cast<float>(std::bit_cast<uint32_t>(x) & 0xffff0000u));
  }
  formats::ConstTensorRef d = n.ref();
  d.data = cut.data();
  const TensorBand wide{.runs = 5, .rel_l2 = 1, .max_abs = 1e9, .mean_error = 1e9, .rmse = 1};
  TensorsToJudge t{.op = "matmul",
                   .class_name = "",
                   .candidate = d,
                   .truth = r.ref(),
                   .incumbent = n.ref(),
                   .band = &wide,
                   .canary = {}};
  t.cap.terms = 512;
  const auto judged = JudgeTensors(*rules, t);
  ASSERT_TRUE(judged.ok());
  EXPECT_EQ(judged->verdict.verdict, Verdict::kWarn) << judged->verdict.reason;
  EXPECT_THAT(judged->verdict.rules[2].detail, testing::StartsWith("bias "));
}

}  // namespace
}  // namespace plinth::verify
