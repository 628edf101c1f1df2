// Plants faults into outputs of each family of operators: each must be caught and, where it has a name,
// named. Clean outputs in several orders of summation must pass.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "plinth/verify/replay/use_fixture.h"
#include "plinth/verify/replay/variants.h"

namespace plinth::verify::replay {
namespace {

std::string Fault(const UseFixture& f, const Arithmetic& arithmetic = {}) {
  Threads threads(2);
  const Way way = f.JudgeIt(arithmetic);
  EXPECT_FALSE(way.holds());
  EXPECT_FALSE(way.problem.empty());
  return ExplainFault(f.use(), 0, arithmetic, way, threads);
}

// Rounds a partial sum.
using Round = std::function<float(double)>;
float ToNearest(double x) { return static_cast<float>(x); }
// Cuts towards zero, as accumulators of some matrix units do.
float Cut(double x) {
  const auto f = static_cast<float>(x);
  return std::abs(static_cast<double>(f)) > std::abs(x) ? std::nextafter(f, 0.0F) : f;
}
float ToF16(double x) { return ToFloat(ToHalf(static_cast<float>(x))); }
double ToTf32(double x) {
  const int e = std::ilogb(x);
  return x == 0 ? 0 : std::ldexp(std::nearbyint(std::ldexp(x, 10 - e)), e - 10);
}

double ToBf16(double x) { return ToFloat(ToBFloat16(static_cast<float>(x))); }

struct Linear {
  int64_t rows = 24, columns = 24, depth = 768;
  std::string type = "f32";
  bool bias = true;
  double offset = 0;
};

// y = x w^T + b, one sum after the other in `lanes` interleaved partial sums.
UseFixture MakeLinear(const Linear& s, const Round& round = ToNearest, int lanes = 1, bool add_bias = true,
                      bool transposed = false, double (*operand)(double) = nullptr, double scale = 1) {
  const auto m = static_cast<size_t>(s.rows), n = static_cast<size_t>(s.columns),
             k = static_cast<size_t>(s.depth);
  const auto x = Normals(m * k, 1, s.type, 1, s.offset), w = Normals(n * k, 2, s.type),
             b = Normals(n, 3, s.type, 20);
  std::vector<double> y(m * n);
  for (size_t i = 0; i < m; ++i) {
    for (size_t j = 0; j < n; ++j) {
      std::vector<float> sums(static_cast<size_t>(lanes));
      for (size_t t = 0; t < k; ++t) {
        double a = x[i * k + t], c = transposed ? w[t * n + j] : w[j * k + t];
        if (operand != nullptr) a = operand(a), c = operand(c);
        float& sum = sums[t % static_cast<size_t>(lanes)];
        sum = round(static_cast<double>(sum) + a * c);
      }
      double total = 0;
      for (const float v : sums) total = round(total + static_cast<double>(v));
      y[i * n + j] = (s.bias && add_bias ? round(total + b[j]) : total) * scale;
    }
  }
  UseFixture f("linear");
  f.In(s.type, {s.rows, s.depth}, x).In(s.type, {s.columns, s.depth}, w);
  if (s.bias) f.In(s.type, {s.columns}, b);
  f.Out(s.type, {s.rows, s.columns}, y);
  return f;
}

TEST(ReplayLinear, CleanOrdersPass) {
  for (const char* type : {"f32", "bf16", "f16"}) {
    for (const int lanes : {1, 4, 16, 64}) {
      for (const int64_t depth : {1, 2, 17, 64, 768, 4096}) {
        for (const double offset : {0.0, 3.0}) {
          const Way way =
              MakeLinear({.rows = 16, .columns = 16, .depth = depth, .type = type, .offset = offset},
                         ToNearest, lanes)
                  .JudgeIt();
          EXPECT_TRUE(way.holds()) << type << " lanes " << lanes << " depth " << depth << ": " << way.problem;
          EXPECT_EQ(way.stats.judged, 256);
        }
      }
    }
  }
}

TEST(ReplayLinear, FaultsAreNamed) {
  EXPECT_EQ(Fault(MakeLinear({}, ToNearest, 1, false)), "the bias is missing");
  EXPECT_EQ(Fault(MakeLinear({.rows = 8, .columns = 96, .depth = 96}, ToNearest, 1, true, true)),
            "the weight is transposed");
  EXPECT_EQ(Fault(MakeLinear({}, ToNearest, 1, true, false, ToTf32)), "tf32 behind f32");
  EXPECT_EQ(Fault(MakeLinear({.rows = 8, .depth = 16384}, ToNearest, 1, true, false, ToTf32)),
            "tf32 behind f32");
  EXPECT_EQ(Fault(MakeLinear({}, Cut)), "sums that are cut off instead of rounded");
  EXPECT_EQ(Fault(MakeLinear({.type = "f16"}, ToF16)), "sums accumulated in f16");
  EXPECT_EQ(Fault(MakeLinear({.type = "f16"}, ToNearest, 1, true, false, ToBf16)), "bf16 behind f16");
  EXPECT_EQ(Fault(MakeLinear({.type = "f16"}, ToNearest, 1, true, false, nullptr, 448.0 / 240)),
            "all results are scaled by 1.867");
}

TEST(ReplayLinear, Tf32PassesWhereItIsDeclared) {
  const UseFixture f = MakeLinear({}, ToNearest, 1, true, false, ToTf32);
  EXPECT_TRUE(f.JudgeIt({.operand = 0x1p-11}).holds());
}

TEST(ReplayLinear, SingleElementsAndStructure) {
  UseFixture f = MakeLinear({});
  f.Put(575, f.use().out(0)[575] * (1 + 1e-3));
  Way way = f.JudgeIt();
  EXPECT_EQ(way.stats.outside, 1);
  EXPECT_NE(way.problem.find("1 of 576 elements are outside; element 575"), std::string::npos) << way.problem;
  f = MakeLinear({});
  f.Put(3, NAN);
  way = f.JudgeIt();
  EXPECT_FALSE(way.structure_holds);
  EXPECT_NE(way.problem.find("element 3 is nan, the truth is"), std::string::npos) << way.problem;
}

TEST(ReplayLinear, LargeProductsAreSampled) {
  const UseFixture f = MakeLinear({.rows = 96, .columns = 600, .depth = 8});
  const Way way = f.JudgeIt({}, 0, 1.0);
  EXPECT_TRUE(way.holds());
  EXPECT_TRUE(way.sampled());
  EXPECT_GT(way.stats.judged, 0);
  EXPECT_EQ(way.elements, 96 * 600);
}

std::vector<double> LayerNormOf(const std::vector<double>& x, size_t n, double eps, bool f32) {
  std::vector<double> y(x.size());
  for (size_t r = 0; r < x.size(); r += n) {
    float mean = 0, square = 0;
    for (size_t i = 0; i < n; ++i) mean += static_cast<float>(x[r + i]);
    mean /= static_cast<float>(n);
    for (size_t i = 0; i < n; ++i)
      square += (static_cast<float>(x[r + i]) - mean) * (static_cast<float>(x[r + i]) - mean);
    const float scale = 1 / std::sqrt(square / static_cast<float>(n) + static_cast<float>(eps));
    for (size_t i = 0; i < n; ++i) {
      const float v = (static_cast<float>(x[r + i]) - mean) * scale;
      y[r + i] = f32 ? v : static_cast<double>(ToFloat(ToBFloat16(v)));
    }
  }
  return y;
}

UseFixture Norm(const std::string& type, double scale, double eps_used, double offset = 0) {
  const auto x = Normals(32 * 512, 5, type, scale, offset);
  UseFixture f("layer_norm");
  f.In(type, {32, 512}, x)
      .Out(type, {32, 512}, LayerNormOf(x, 512, eps_used, type == "f32"))
      .Set("eps", 1e-5);
  return f;
}

TEST(ReplayNorm, CleanPassesAndEpsIsNamed) {
  for (const char* type : {"f32", "bf16"}) {
    for (const double offset : {0.0, 1.0, 30.0}) {
      const Way way = Norm(type, 1, 1e-5, offset).JudgeIt();
      EXPECT_TRUE(way.holds()) << type << " " << offset << ": " << way.problem;
    }
  }
  EXPECT_EQ(Fault(Norm("f32", 1, 1e-6)), "eps is 1e-06");
  EXPECT_EQ(Fault(Norm("f32", 0.01, 1e-12)), "eps is 1e-12");
  EXPECT_EQ(Fault(Norm("bf16", 0.01, 1e-6)), "eps is 1e-06");
}

UseFixture Gelu(const std::string& type, bool tanh) {
  const auto x = Normals(4096, 6, type, 2);
  std::vector<double> y;
  for (const double v : x) {
    const auto t = static_cast<float>(v);
    y.push_back(tanh ? 0.5F * t * (1 + std::tanh(0.7978845608F * (t + 0.044715F * t * t * t)))
                     : 0.5F * t * (1 + std::erf(t * 0.70710678F)));
  }
  UseFixture f("gelu");
  f.In(type, {4096}, x).Out(type, {4096}, y);
  return f;
}

TEST(ReplayGelu, TheApproximationIsNamed) {
  for (const char* type : {"f32", "f16", "bf16"}) {
    EXPECT_TRUE(Gelu(type, false).JudgeIt().holds()) << type << Gelu(type, false).JudgeIt().problem;
    EXPECT_EQ(Fault(Gelu(type, true)), "gelu computed as tanh") << type;
    UseFixture right = Gelu(type, true);
    EXPECT_TRUE(right.Set("approximate", std::string("tanh")).JudgeIt().holds()) << type;
  }
}

UseFixture Elu(float alpha, bool cancels) {
  const auto x = Normals(4096, 1, "f32", 3);
  std::vector<double> y;
  for (const double v : x) {
    const auto t = static_cast<float>(v);
    y.push_back(t > 0 ? t : alpha * (cancels ? std::exp(t) - 1.0F : std::expm1(t)));
  }
  UseFixture f("elu");
  f.In("f32", {4096}, x).Out("f32", {4096}, y);
  return f;
}

// Both ways to compute it are right; another alpha is not, however near.
TEST(ReplayElu, MayCancelAsItsDefinitionDoes) {
  EXPECT_TRUE(Elu(1, false).JudgeIt().holds()) << Elu(1, false).JudgeIt().problem;
  EXPECT_TRUE(Elu(1, true).JudgeIt().holds()) << Elu(1, true).JudgeIt().problem;
  EXPECT_FALSE(Elu(1.00001F, true).JudgeIt().holds());
  UseFixture other = Elu(1.00001F, true);
  EXPECT_TRUE(other.Set("alpha", static_cast<double>(1.00001F)).JudgeIt().holds());
}

struct Heads {
  std::string type = "f32";
  bool causal = true;
  int shift = 0;
  double scale = 0;
  bool round_weights = false;
};

// One float at a time, two heads of 24 queries and keys, 16 columns.
UseFixture Attend(const Heads& h) {
  constexpr size_t kHeads = 2, kLength = 24, kColumns = 16;
  const auto q = Normals(kHeads * kLength * kColumns, 7, h.type), k = Normals(q.size(), 8, h.type),
             v = Normals(q.size(), 9, h.type);
  const float scale = h.scale == 0 ? 0.25F : static_cast<float>(h.scale);
  std::vector<double> y(q.size());
  for (size_t head = 0; head < kHeads; ++head) {
    const size_t base = head * kLength * kColumns;
    for (size_t i = 0; i < kLength; ++i) {
      std::vector<float> p(kLength);
      float top = -INFINITY, sum = 0;
      for (size_t j = 0; j < kLength; ++j) {
        float s = 0;
        for (size_t c = 0; c < kColumns; ++c)
          s += static_cast<float>(q[base + i * kColumns + c] * k[base + j * kColumns + c]);
        const bool hidden = h.causal && static_cast<int>(j) > static_cast<int>(i) + h.shift;
        p[j] = hidden ? -INFINITY : s * scale;
        top = std::max(top, p[j]);
      }
      for (float& w : p) sum += (w = std::exp(w - top));
      for (size_t c = 0; c < kColumns; ++c) {
        float out = 0;
        for (size_t j = 0; j < kLength; ++j) {
          const float w = h.round_weights ? ToFloat(ToBFloat16(p[j] / sum)) : p[j] / sum;
          out += w * static_cast<float>(v[base + j * kColumns + c]);
        }
        y[base + i * kColumns + c] = out;
      }
    }
  }
  UseFixture f("attention");
  const std::vector<int64_t> dims = {kHeads, kLength, kColumns};
  f.In(h.type, dims, q).In(h.type, dims, k).In(h.type, dims, v).Out(h.type, dims, y).Set("is_causal", true);
  return f;
}

TEST(ReplayAttention, CleanPassesAndFaultsAreNamed) {
  for (const char* type : {"f32", "bf16", "f16"}) {
    const Way way = Attend({.type = type, .round_weights = std::string(type) == "bf16"}).JudgeIt();
    EXPECT_TRUE(way.holds()) << type << ": " << way.problem;
    EXPECT_EQ(Fault(Attend({.type = type, .shift = 1})), "the causal mask is off by one (one key too many)")
        << type;
    EXPECT_EQ(Fault(Attend({.type = type, .causal = false})), "the causal mask is missing") << type;
    EXPECT_EQ(Fault(Attend({.type = type, .scale = 1})), "the scores are not scaled") << type;
  }
}

TEST(ReplaySoftmax, CleanPassesAndAxisIsNamed) {
  const auto x = Normals(64 * 64, 10, "f32", 4);
  std::vector<double> along(x.size()), across(x.size());
  for (size_t r = 0; r < 64; ++r) {
    float sum = 0, other = 0;
    for (size_t i = 0; i < 64; ++i) {
      sum += std::exp(static_cast<float>(x[r * 64 + i]));
      other += std::exp(static_cast<float>(x[i * 64 + r]));
    }
    for (size_t i = 0; i < 64; ++i) {
      along[r * 64 + i] = std::exp(static_cast<float>(x[r * 64 + i])) / sum;
      across[i * 64 + r] = std::exp(static_cast<float>(x[i * 64 + r])) / other;
    }
  }
  UseFixture clean("softmax"), wrong("softmax");
  clean.In("f32", {64, 64}, x).Out("f32", {64, 64}, along);
  wrong.In("f32", {64, 64}, x).Out("f32", {64, 64}, across);
  EXPECT_TRUE(clean.JudgeIt().holds()) << clean.JudgeIt().problem;
  EXPECT_EQ(Fault(wrong), "computed along axis 0");
}

TEST(ReplayReduction, CleanPassesAndCutSumsAreNamed) {
  for (const bool cut : {false, true}) {
    const auto x = Normals(512 * 1024, 11, "f32", 1, 0.5);
    std::vector<double> y;
    for (size_t r = 0; r < 512; ++r) {
      float sum = 0;
      for (size_t i = 0; i < 1024; ++i) {
        const double exact = static_cast<double>(sum) + x[r * 1024 + i];
        sum = cut ? Cut(exact) : static_cast<float>(exact);
      }
      y.push_back(sum);
    }
    UseFixture f("sum");
    f.In("f32", {512, 1024}, x).Out("f32", {512}, y).SetInts("dim", {1});
    if (cut) {
      EXPECT_EQ(Fault(f), "sums that are cut off instead of rounded");
    } else {
      EXPECT_TRUE(f.JudgeIt().holds()) << f.JudgeIt().problem;
    }
  }
}

TEST(ReplayOrder, IndicesAreJudgedAsSets) {
  const std::vector<double> x = {2, 5, 5, 1};
  const auto make = [&](const std::vector<double>& indices) {
    UseFixture f("top_k");
    f.In("f32", {4}, x).Out("f32", {3}, {5, 5, 2}).Out("i64", {3}, indices).Set("k", int64_t{3});
    return f;
  };
  EXPECT_TRUE(make({1, 2, 0}).JudgeIt({}, 1).holds());
  EXPECT_TRUE(make({2, 1, 0}).JudgeIt({}, 1).holds());
  EXPECT_EQ(make({2, 2, 0}).JudgeIt({}, 1).problem, "element 1: index 2 occurs twice");
  EXPECT_EQ(make({1, 2, 4}).JudgeIt({}, 1).problem, "element 2: index 4 is outside [0, 4)");
  EXPECT_EQ(make({1, 2, -1}).JudgeIt({}, 1).problem, "element 2: index -1 is outside [0, 4)");
  EXPECT_EQ(make({1, 2, 3}).JudgeIt({}, 1).problem,
            "element 2: index 3 leads to 1, the right value there is 2");
  EXPECT_TRUE(make({1, 2, 0}).JudgeIt().holds());
}

TEST(ReplaySampling, DrawsWithoutWeightAreRefused) {
  const auto make = [](double picked) {
    UseFixture f("sampling");
    f.In("f32", {3}, {0.5, 0, 0.5}).Out("i64", {1}, {picked}).Set("method", std::string("multinomial"));
    return f;
  };
  EXPECT_TRUE(make(2).JudgeIt().holds());
  EXPECT_EQ(make(1).JudgeIt().problem, "element 0: index 1 was drawn; its weight is 0");
  EXPECT_EQ(make(3).JudgeIt().problem, "element 0: index 3 is outside [0, 3)");
  UseFixture inverse("sampling");
  inverse.In("f32", {3}, {1, 1, 2})
      .In("f32", {2}, {0.3, 0.9})
      .Out("i64", {2}, {1, 1})
      .Set("method", std::string("inverse_cdf"));
  EXPECT_EQ(inverse.JudgeIt().problem,
            "element 1: index 1 covers [0.25, 0.5) of the weights; the random number is 0.9");
}

TEST(ReplayQuantise, OneStepOffIsAFaultAwayFromTies) {
  const auto make = [](double second) {
    UseFixture f("quantize");
    f.In("f32", {4}, {0.1, 0.26, 100, -100}).Out("i8", {4}, {1, second, 127, -128});
    f.Set("scale", 0.1).Set("zero_point", int64_t{0});
    return f;
  };
  EXPECT_TRUE(make(3).JudgeIt().holds());
  EXPECT_FALSE(make(2).JudgeIt().holds());
  UseFixture tie("quantize");
  tie.In("f32", {2}, {0.25, 0.75}).Out("u8", {2}, {0, 2}).Set("scale", 0.5).Set("zero_point", int64_t{0});
  EXPECT_TRUE(tie.JudgeIt().holds());
  UseFixture away("quantize");
  away.In("f32", {2}, {0.25, 0.75}).Out("u8", {2}, {1, 2}).Set("scale", 0.5).Set("zero_point", int64_t{0});
  EXPECT_FALSE(away.JudgeIt().holds());
}

TEST(ReplayEmbedding, EveryBitCounts) {
  const auto table = Normals(12, 13, "bf16");
  UseFixture f("embedding");
  f.In("i64", {2}, {3, 0}).In("bf16", {4, 3}, table);
  f.Out("bf16", {2, 3}, {table[9], table[10], table[11], table[0], table[1], table[2]});
  EXPECT_TRUE(f.JudgeIt().holds());
  f.Put(4, table[1] * (1 + 0x1p-7));
  EXPECT_FALSE(f.JudgeIt().holds());
  UseFixture outside("embedding");
  outside.In("i64", {1}, {4}).In("f32", {4, 1}, {1, 2, 3, 4}).Out("f32", {1, 1}, {0});
  EXPECT_EQ(outside.JudgeIt().problem, "element 0: index 4 at 0 is outside [0, 4)");
}

TEST(ReplayCast, EncodingAndRoundingCount) {
  UseFixture f("cast");
  f.In("f32", {3}, {448, 1.0625, -0.0}).Out("f8_e4m3", {3}, {448, 1.0, -0.0});
  EXPECT_TRUE(f.JudgeIt().holds()) << f.JudgeIt().problem;
  UseFixture up("cast");
  up.In("f32", {1}, {1.0625}).Out("f8_e4m3", {1}, {1.125});
  EXPECT_FALSE(up.JudgeIt().holds());
  UseFixture bf16("cast");  // bf16 behind f16
  bf16.In("f32", {1}, {1.001}).Out("f16", {1}, {1.0});
  EXPECT_FALSE(bf16.JudgeIt().holds());
}

}  // namespace
}  // namespace plinth::verify::replay
