// The rule set as a file, the verdict table, and each rule at its border.
#include "plinth/verify/rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "plinth/base/random.h"
#include "plinth/verify/placed.h"

namespace plinth::verify {
namespace {

using formats::ConstTensorRef;
using testing::ElementsAre;
using testing::HasSubstr;

RuleSet Rules() {
  StatusOr<RuleSet> rules = RuleSet::Builtin();
  EXPECT_TRUE(rules.ok()) << rules.status();
  return *std::move(rules);
}

// A tensor of its own.
class Owned {
 public:
  Owned(DType dtype, std::vector<int64_t> dims, const std::vector<double>& values)
      : dtype_(dtype), dims_(dims) {
    bytes_.resize(values.size() * static_cast<size_t>(SizeOf(dtype)));
    for (size_t i = 0; i < values.size(); ++i) Set(i, values[i]);
  }
  void Set(size_t i, double x) {
    StoreElement(dtype_, bytes_.data() + i * static_cast<size_t>(SizeOf(dtype_)), x);
  }
  ConstTensorRef ref() const {
    return {.name = "x",
            .dtype = dtype_,
            .dims = dims_,
            .data = bytes_.data(),
            .bytes = static_cast<int64_t>(bytes_.size())};
  }

 private:
  DType dtype_;
  std::vector<int64_t> dims_;
  std::vector<std::byte> bytes_;
};

Owned Vector(DType dtype, const std::vector<double>& values) {
  return {dtype, {static_cast<int64_t>(values.size())}, values};
}

// The shipped file with one text in place of another.
std::string Edited(std::string_view from, std::string_view to) {
  std::string text(RuleSet::BuiltinText());
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}
std::string Refusal(std::string_view from, std::string_view to) {
  return std::string(RuleSet::Parse(Edited(from, to), "r.toml").status().message());
}

TEST(RuleSet, HoldsTheTableOfTheFactsPage) {
  const RuleSet rules = Rules();
  EXPECT_EQ(rules.lambda, 6);
  EXPECT_EQ(rules.noise_factor, 1.5);
  EXPECT_EQ(rules.max_ratio, 5);
  EXPECT_EQ(rules.subnormal_drop, 10);
  EXPECT_EQ(rules.bias_sigmas, 4);
  EXPECT_EQ(rules.rms_floor, 0.5);
  EXPECT_EQ(rules.type(NumberType::kF32).m, 2);
  EXPECT_EQ(rules.type(NumberType::kBF16).m, 3);
  EXPECT_EQ(RuleSet::Raised(rules.m_raises, 9, 0), 10);
  EXPECT_EQ(RuleSet::Raised(rules.m_raises, 10, 0), 5);
  EXPECT_EQ(RuleSet::Raised(rules.m_raises, 999, 0), 5);
  EXPECT_EQ(RuleSet::Raised(rules.m_raises, 1000, 0), 0);
  EXPECT_EQ(rules.type(NumberType::kF32).u_out, std::ldexp(1.0, -24));
  EXPECT_EQ(rules.type(NumberType::kF16).u_out, std::ldexp(1.0, -11));
  EXPECT_EQ(rules.type(NumberType::kBF16).u_out, std::ldexp(1.0, -8));
  EXPECT_EQ(rules.type(NumberType::kF64).u_out, std::ldexp(1.0, -53));
  EXPECT_NEAR(rules.type(NumberType::kTf32).u_in, std::sqrt(2) * std::ldexp(1.0, -11), 1e-18);
  // "3.8e-6 at 4096", "4.9e-4", "3.9e-3".
  const RuleClass& g = *rules.Find("G");
  EXPECT_NEAR(g.limit(NumberType::kF32).grown * 64, 3.8e-6, 2e-8);
  EXPECT_NEAR(g.limit(NumberType::kF16).fixed + g.limit(NumberType::kF16).grown * 64, 4.9e-4, 3e-6);
  EXPECT_NEAR(g.limit(NumberType::kBF16).fixed, 3.9e-3, 1e-5);
  EXPECT_EQ(rules.Find("C")->limit(NumberType::kF32).most, 4);
  EXPECT_EQ(rules.Find("C")->limit(NumberType::kF32).relaxed, 8);
  EXPECT_EQ(rules.Find("F")->limit(NumberType::kF32).kind, LimitKind::kRelativeL2);
  EXPECT_EQ(rules.Find("F")->limit(NumberType::kF16).most, 2);
  EXPECT_EQ(rules.Find("F")->limit(NumberType::kInt).kind, LimitKind::kUndefined);
  // "after dequantisation: the row of fp16"; tf32 as f32 where products are not involved.
  EXPECT_EQ(rules.Find("E")->limit(NumberType::kInt).fixed, 2e-3);
  EXPECT_EQ(rules.Find("B")->limit(NumberType::kTf32).most, 1);
  EXPECT_EQ(rules.ClassOf("linear").name, "G");
  EXPECT_EQ(rules.ClassOf("layer_norm").name, "F");
  EXPECT_EQ(rules.ClassOf("topk").name, "A'");
  EXPECT_TRUE(rules.ClassOf("gelu").Relaxed("gelu"));
  EXPECT_EQ(rules.ClassOf("a module of its own").name, "E");
  EXPECT_EQ(rules.digest().size(), 64u);
  const auto file = RuleSet::Load(StrCat(std::getenv("PLINTH_SOURCE_DIR"), "/cases/rules.toml"));
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(rules.digest(), file->digest());
}

TEST(RuleSet, RefusesWithFileAndLine) {
  EXPECT_EQ(Refusal("lambda = 6.0", "lambda = 6.0\nlamda = 5.0"),
            "r.toml: line 24: unknown key \"cap.lamda\"; lambda, assumed_terms, estimated_scale, raises are "
            "expected");
  EXPECT_EQ(Refusal("lambda = 6.0", "lambda = -6.0"),
            "r.toml: line 23: \"cap.lambda\" is -6.0; a number in [0, 1e+06] is expected");
  EXPECT_EQ(Refusal("lambda = 6.0", "lambda = 0"),
            "r.toml: line 23: \"cap.lambda\" is 0; a number above 0, up to 1e+06 is expected");
  EXPECT_EQ(Refusal("lambda = 6.0", "lambda = nan"),
            "r.toml: line 23: a value is not finite; a number is expected");
  EXPECT_EQ(Refusal("lambda = 6.0", "lambda = 1e9"),
            "r.toml: line 23: \"cap.lambda\" is 1e+09; a number in [0, 1e+06] is expected");
  EXPECT_THAT(Refusal("lambda = 6.0", "lambda = \"6\""), HasSubstr("\"cap.lambda\" is \"6\"; a number"));
  EXPECT_THAT(Refusal("lambda = 6.0", "lambda = = 6"), HasSubstr("r.toml: line 23: not TOML: "));
  EXPECT_THAT(Refusal("lambda = 6.0\n", ""), HasSubstr("\"cap.lambda\" is missing"));
  EXPECT_THAT(Refusal("[class.K]", "[class.L]"), HasSubstr("unknown key \"class.L\"; A, A', B, "));
  EXPECT_THAT(Refusal("\"sort\", ", "\"sort\", \"gather\", "),
              HasSubstr("each operator once, and gather stands in class A already"));
  EXPECT_THAT(Refusal("growth = \"norm\"", "growth = \"cubic\""),
              HasSubstr("\"class.F.growth\" is \"cubic\"; one of "));
  EXPECT_THAT(Refusal("int = {kind = \"as\", type = \"f16\"}", "int = {kind = \"as\", type = \"int\"}"),
              HasSubstr("\"class.E.int.type\" is \"int\"; one of "));
  EXPECT_THAT(Refusal("relaxed = 8.0", "relaxed = 3.0"),
              HasSubstr("\"class.C.f64.relaxed\" is 3.0; a number in [4, "));
  EXPECT_THAT(Refusal("broken = [3]", "broken = [3, 3]"),
              HasSubstr("a list that names each rule once is expected"));
  EXPECT_THAT(Refusal("broken = [3]", "broken = [5]"),
              HasSubstr("\"warn[0].broken[0]\" is 5; an integer in [1, 4]"));
  EXPECT_THAT(Refusal("{below = 10, m = 10.0}, {below = 1000", "{below = 10, m = 10.0}, {below = 10"),
              HasSubstr("\"incumbent.raises[1].below\" is 10; an integer in [11, "));
  EXPECT_THAT(Refusal("plinth.rules/1", "plinth.rules/9"),
              HasSubstr("\"schema\" is \"plinth.rules/9\"; one of"));
  EXPECT_THAT(std::string(RuleSet::Load("/no/such/rules.toml").status().message()),
              HasSubstr("/no/such/rules.toml: "));
}

TEST(RuleSet, RefusesAMissingClass) {
  std::string text(RuleSet::BuiltinText());
  const size_t begin = text.find("[class.K]"), end = text.find("[[warn]]");
  ASSERT_LT(begin, end);
  text.erase(begin, end - begin);
  EXPECT_THAT(std::string(RuleSet::Parse(text, "r.toml").status().message()),
              HasSubstr("\"class.K\" is missing; an object is expected"));
}

TEST(RuleSet, DigestIsOfTheText) {
  const auto a = RuleSet::Parse(RuleSet::BuiltinText(), "a"),
             b = RuleSet::Parse(Edited("m = 2.0", "m = 2.5"), "b");
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_NE(a->digest(), b->digest());
}

TEST(SelfTestOfRules, PassesAsShipped) { EXPECT_EQ(SelfTest(Rules()), ""); }

TEST(SelfTestOfRules, FindsSpoiltNumbers) {
  const auto missed = [](std::string_view from, std::string_view to) {
    const auto rules = RuleSet::Parse(Edited(from, to), "r.toml");
    return rules.ok() ? SelfTest(*rules) : std::string(rules.status().message());
  };
  EXPECT_THAT(missed("factor = 1.5", "factor = 1000"), HasSubstr("outside the noise"));
  EXPECT_THAT(missed("m = 2.0", "m = 1e5"), HasSubstr("f64: a result that errs more than the incumbent"));
  EXPECT_THAT(missed("lambda = 6.0", "lambda = 1e5"), HasSubstr("was not noticed"));
  EXPECT_THAT(missed("broken = [3]\nholds = [1, 2]", "broken = [3, 4]\nholds = [1, 2]"),
              HasSubstr("do not give"));
  EXPECT_THAT(missed("broken = [3]\nholds = [1, 2]", "broken = [2]\nholds = [1]"), HasSubstr("do not give"));
  EXPECT_THAT(missed("holds = [1, 2]", "holds = [1]"), HasSubstr("do not give"));
  EXPECT_THAT(missed("identical_ranks = true", "identical_ranks = false"), HasSubstr("class J"));
  EXPECT_THAT(missed("band_required = true", "band_required = false"), HasSubstr("class H"));
  // An "m = 1e9" is not even read.
  EXPECT_THAT(missed("m = 2.0", "m = 1e9"), HasSubstr("\"types.f64.m\" is 1e+09"));
}

// d, n and the truth of a product, and what comes out.
struct Trial {
  std::vector<double> truth{1, 2, 3, 4}, incumbent{1, 2, 3, 4}, candidate{1, 2, 3, 4};
  DType dtype = DType::kF32;
  std::string_view class_name = "E";
  const TensorBand* band = nullptr;
  bool with_truth = true, with_incumbent = true;

  TensorVerdict Judge() const {
    const Owned r = Vector(DType::kF64, truth), n = Vector(dtype, incumbent), d = Vector(dtype, candidate);
    TensorsToJudge t{.class_name = class_name,
                     .candidate = d.ref(),
                     .truth = {},
                     .incumbent = {},
                     .band = band,
                     .canary = {}};
    if (with_truth) t.truth = r.ref();
    if (with_incumbent) t.incumbent = n.ref();
    const auto judged = JudgeTensors(Rules(), t);
    EXPECT_TRUE(judged.ok()) << judged.status();
    return judged.ok() ? judged->verdict : TensorVerdict{};
  }
};

TEST(Judge, PrintsWhatItCouldNotDecide) {
  Trial trial;
  trial.with_incumbent = false;
  const TensorVerdict v = trial.Judge();
  EXPECT_EQ(v.verdict, Verdict::kPass);
  EXPECT_THAT(v.Unproven(), ElementsAre(3, 4));
  EXPECT_EQ(ToText(v), "pass (unproven: 3, 4)");
  EXPECT_EQ(v.reason, "unproven: 3, 4");
  EXPECT_EQ(v.rules[2].detail, "no incumbent was given");
  EXPECT_TRUE(v.judged());
}

TEST(Judge, StructureAloneIsUnproven) {
  Trial trial;
  trial.with_truth = false;
  const TensorVerdict v = trial.Judge();
  EXPECT_FALSE(v.judged());
  EXPECT_EQ(ToText(v), "unproven (unproven: 2, 3, 4)");
  EXPECT_EQ(v.rules[1].detail, "no truth was given");
  EXPECT_EQ(v.rules[3].detail, "no band was given");
}

TEST(Judge, NothingBoundsTheErrorWithoutATruth) {
  const TensorBand band{.runs = 5, .rel_l2 = 1e-6, .max_abs = 1e-6, .mean_error = 1e-6, .rmse = 1e-6};
  Trial trial;
  trial.with_truth = false;
  trial.band = &band;
  trial.candidate[2] = 3.5;
  const TensorVerdict v = trial.Judge();
  EXPECT_EQ(v.verdict, Verdict::kFail);
  EXPECT_THAT(v.reason, HasSubstr("nothing else bounds the error: rule 2 is unproven"));
}

TEST(Judge, ATruthNoWiderDecidesNothing) {
  const Owned r = Vector(DType::kF32, {1, 2}), d = Vector(DType::kF32, {1, 2});
  const auto judged = JudgeTensors(
      Rules(),
      {.class_name = "G", .candidate = d.ref(), .truth = r.ref(), .incumbent = d.ref(), .canary = {}});
  ASSERT_TRUE(judged.ok());
  EXPECT_THAT(judged->verdict.Unproven(), ElementsAre(2, 3, 4));
  EXPECT_THAT(judged->verdict.rules[1].detail,
              HasSubstr("a truth in f32 is no wider than the result in f32"));
  EXPECT_EQ(judged->verdict.rules[2].detail, "the truth is no wider than the result");
}

TEST(Judge, NanOnBothSidesIsEqualAndOnOneIsNot) {
  Trial both;
  both.truth[1] = both.incumbent[1] = both.candidate[1] = NAN;
  EXPECT_EQ(both.Judge().verdict, Verdict::kPass);
  Trial candidate;
  candidate.candidate[1] = NAN;
  EXPECT_EQ(candidate.Judge().rules[0].state, RuleState::kBroken);
  EXPECT_THAT(candidate.Judge().rules[0].detail, HasSubstr("NaN on one side only at 1 places, first at 1"));
  // Candidate and incumbent alike wrong: the truth tells.
  Trial alike;
  alike.incumbent[1] = alike.candidate[1] = NAN;
  EXPECT_EQ(alike.Judge().verdict, Verdict::kFail);
  EXPECT_THAT(alike.Judge().remarks, ElementsAre(HasSubstr("as many NaN")));
}

TEST(Judge, NanAloneIsAFailureAndInfinitiesAloneAreUnproven) {
  const RuleSet rules = Rules();
  const auto judge = [&](const std::vector<double>& values, std::string_view op) {
    const Owned n = Vector(DType::kF32, values), d = Vector(DType::kF32, values);
    const auto result = JudgeTensors(rules, {.op = op, .candidate = d.ref(), .incumbent = n.ref()});
    EXPECT_TRUE(result.ok()) << result.status();
    return result->verdict;
  };
  for (const std::string_view op : {"linear", "cast", "dropout"}) {
    const TensorVerdict v = judge({NAN, INFINITY, NAN}, op);
    EXPECT_EQ(v.verdict, Verdict::kFail) << op;
    EXPECT_EQ(v.reason,
              "rule 1: no element is finite on both sides (2 of 3 are NaN on both): nothing was compared");
    EXPECT_EQ(v.fault_kind, "not-finite");
  }
  EXPECT_EQ(ToText(judge({-INFINITY, INFINITY}, "linear")), "unproven (unproven: 2, 3, 4)");
  // Where bits are all that counts, infinities are as good as numbers.
  EXPECT_EQ(judge({-INFINITY, INFINITY}, "cast").rules[1].state, RuleState::kHolds);
  EXPECT_THAT(judge({NAN, 1, 2, NAN}, "linear").remarks,
              ElementsAre(HasSubstr("2 of 4 elements are NaN in the same places on both sides")));
}

TEST(Judge, OverflowOfTheTypeIsNoFault) {
  Trial trial;
  trial.dtype = DType::kF16;
  trial.truth = {1e6, 2, 3, -1e6};
  trial.incumbent = trial.candidate = {INFINITY, 2, 3, -INFINITY};
  EXPECT_EQ(trial.Judge().verdict, Verdict::kPass) << trial.Judge().reason;
  trial.candidate[3] = INFINITY;
  EXPECT_EQ(trial.Judge().verdict, Verdict::kFail);
}

TEST(Judge, AllZerosAndConstants) {
  Trial zero;
  zero.truth = zero.incumbent = zero.candidate = {0, 0, 0, 0};
  EXPECT_EQ(zero.Judge().verdict, Verdict::kPass);
  zero.candidate = {0, 0, -0.0, 0};
  EXPECT_EQ(zero.Judge().verdict, Verdict::kPass);
  zero.class_name = "A";  // there the sign of a zero counts
  EXPECT_EQ(zero.Judge().verdict, Verdict::kFail);
  Trial constant;
  constant.truth = constant.incumbent = {2, 2, 2, 2};
  constant.candidate = {0, 0, 0, 0};
  EXPECT_EQ(constant.Judge().verdict, Verdict::kFail);
}

TEST(Judge, TinyOutputsAreNotLetThroughByAFixedLine) {
  Trial tiny;
  tiny.truth = tiny.incumbent = {1e-20, 2e-20, -3e-20, 4e-20};
  tiny.candidate = {1e-20, 2e-20, -3.1e-20, 4e-20};
  EXPECT_EQ(tiny.Judge().verdict, Verdict::kFail);
}

TEST(Judge, BetterThanTheIncumbentIsRemarked) {
  Trial trial;
  trial.incumbent = {1.000004, 1.999996, 3.000004, 3.999996};
  const TensorVerdict v = trial.Judge();
  EXPECT_EQ(v.verdict, Verdict::kPass) << v.reason;
  EXPECT_THAT(v.remarks, ElementsAre(HasSubstr("better than the reference is suspicious")));
}

TEST(Judge, RandomNumbersByDistributionAlone) {
  Random random(1);
  std::vector<double> a(5000), b(5000), c(5000);
  for (double& x : a) x = random.Normal();
  for (double& x : b) x = random.Normal();
  for (double& x : c) x = random.Normal() + 0.5;
  Trial trial;
  trial.class_name = "K", trial.with_truth = false;
  trial.incumbent = a, trial.candidate = b;
  const TensorVerdict v = trial.Judge();
  EXPECT_EQ(ToText(v), "pass") << v.reason;
  EXPECT_EQ(v.rules[2].state, RuleState::kNotApplicable);
  trial.candidate = c;
  EXPECT_EQ(trial.Judge().verdict, Verdict::kFail);
}

TEST(Judge, ExactClassesTakeTheIncumbentForTheTruth) {
  Trial trial;
  trial.class_name = "A", trial.with_truth = false;
  EXPECT_EQ(ToText(trial.Judge()), "pass");
  trial.candidate[3] = std::nextafter(4.0F, 5.0F);
  EXPECT_EQ(trial.Judge().verdict, Verdict::kFail);
  EXPECT_THAT(trial.Judge().rules[1].detail, HasSubstr("1 of 4 differ: element 3 is 4 instead of 4"));
}

TEST(Judge, AtomicsCannotPassWithoutABand) {
  Trial trial;
  trial.class_name = "H";
  const TensorVerdict v = trial.Judge();
  EXPECT_EQ(v.verdict, Verdict::kWarn);
  EXPECT_EQ(v.reason, "class H (atomics and scatter: sums in any order) cannot pass without a band");
}

TEST(Judge, IndicesInsideTies) {
  const Owned values = Vector(DType::kF32, {5, 5, 3}), input = Vector(DType::kF32, {5, 3, 5, 1});
  const Owned n = Vector(DType::kI64, {0, 2, 1}), swapped = Vector(DType::kI64, {2, 0, 1}),
              wrong = Vector(DType::kI64, {2, 0, 3}), wild = Vector(DType::kI64, {2, 0, 1 << 20});
  const auto judge = [&](const Owned& d, bool with_input) {
    TensorsToJudge t{.op = "topk",
                     .class_name = "",
                     .candidate = d.ref(),
                     .truth = {},
                     .incumbent = n.ref(),
                     .canary = {}};
    t.order_values = values.ref();
    if (with_input) t.order_input = input.ref();
    const auto judged = JudgeTensors(Rules(), t);
    EXPECT_TRUE(judged.ok());
    return judged->verdict;
  };
  EXPECT_EQ(ToText(judge(n, true)), "pass");
  EXPECT_EQ(ToText(judge(swapped, true)), "pass");
  EXPECT_EQ(ToText(judge(swapped, false)), "pass");
  EXPECT_THAT(judge(wrong, true).reason, HasSubstr("element 2: index 3 leads to 1 instead of 3"));
  EXPECT_THAT(judge(wrong, false).reason, HasSubstr("element 2 is 3 instead of 1"));
  EXPECT_THAT(judge(wild, true).reason, HasSubstr("element 2 is 1048576; an index in [0, 4) is expected"));
}

TEST(Judge, RefusesUnknownClassesAndArithmetic) {
  const Owned d = Vector(DType::kF32, {1});
  EXPECT_EQ(
      JudgeTensors(Rules(),
                   {.class_name = "Z", .candidate = d.ref(), .truth = {}, .incumbent = d.ref(), .canary = {}})
          .status()
          .message(),
      "class Z: there are A, A', B, C, D, E, F, G, G', H, I, I', J, K");
  EXPECT_EQ(JudgeTensors(Rules(), {.class_name = "G",
                                   .candidate = d.ref(),
                                   .truth = {},
                                   .incumbent = d.ref(),
                                   .canary = {},
                                   .arithmetic = "fp32"})
                .status()
                .message(),
            "arithmetic fp32: f64, f32, tf32, f16 or bf16 is expected");
}

TEST(Cap, GivenScalesAreHeldAgainstTheShape) {
  const RuleSet rules = Rules();
  const Owned r(DType::kF64, {2, 2}, {1, 2, 3, 4}), d(DType::kF32, {2, 2}, {1, 2, 3, 4.5});
  const std::vector<double> rows = {1, 1e4}, columns = {1, 1e4}, wrong = {1, 1, 1};
  CapOptions options{.terms = 4, .scale = {.rows = rows, .columns = columns}};
  const auto cap = CheckCap(rules, *rules.Find("G"), r.ref(), d.ref(), options);
  ASSERT_TRUE(cap.ok());
  EXPECT_EQ(cap->outside, 0);  // 6 x 2^-24 x 2 x 1e8 is 71
  options.scale.columns = {};
  EXPECT_EQ(CheckCap(rules, *rules.Find("G"), r.ref(), d.ref(), options)->outside, 1);
  EXPECT_EQ(CheckCap(rules, *rules.Find("G"), r.ref(), d.ref(), options)->worst, 3);
  options.scale = {.elements = wrong};
  EXPECT_EQ(CheckCap(rules, *rules.Find("G"), r.ref(), d.ref(), options).status().message(),
            "x: a scale of 3 elements, 0 rows and 0 columns does not fit f64[2, 2]");
  const Owned more = Vector(DType::kF32, {1});
  EXPECT_EQ(CheckCap(rules, *rules.Find("G"), r.ref(), more.ref(), {}).status().message(),
            "x: 1 elements against 4 of the truth; the same number is expected");
}

// Scores behind a causal mask, whose errors a free run brings along: of the size of the scores, whatever the
// fill is.
TEST(Cap, WhatAMaskFilledInSaysNothingAboutTheScale) {
  const RuleSet rules = Rules();
  constexpr int64_t kSide = 32, kCount = 64 * kSide * kSide;
  Random random(3);
  for (const double fill : {-1e4, -100.0, -3.4028234663852886e38}) {
    Owned r(DType::kF64, {64, kSide, kSide}, std::vector<double>(kCount));
    Owned d(DType::kF32, {64, kSide, kSide}, std::vector<double>(kCount));
    Owned open = d;
    for (int64_t i = 0; i < kCount; ++i) {
      const bool masked = i % kSide > i / kSide % kSide;
      const double score = random.Normal(), error = 1e-6 * random.Normal();
      r.Set(static_cast<size_t>(i), masked ? fill : score);
      d.Set(static_cast<size_t>(i), masked ? fill : score + error);
      open.Set(static_cast<size_t>(i), i == kSide - 1 ? score : masked ? fill : score + error);
    }
    const auto cap = CheckCap(rules, *rules.Find("E"), r.ref(), d.ref(), {});
    EXPECT_FALSE(cap->broken) << fill << ": " << cap->detail;
    // A single wrong element beside the fills still stands out, and so does a mask that is open.
    d.Set(kCount - 1, 1e-3);
    EXPECT_TRUE(CheckCap(rules, *rules.Find("E"), r.ref(), d.ref(), {})->broken) << fill;
    EXPECT_TRUE(CheckCap(rules, *rules.Find("E"), r.ref(), open.ref(), {})->broken) << fill;
  }
}

// An error that came in moves a whole row at once: 8 rows of 512 make 8 errors, not 4096.
TEST(Judge, BiasCountsIndependentErrors) {
  const RuleSet rules = Rules();
  Random random(5);
  Owned r(DType::kF64, {8, 512}, std::vector<double>(4096)),
      n(DType::kF32, {8, 512}, std::vector<double>(4096));
  Owned d = n;
  for (size_t row = 0; row < 8; ++row) {
    // Errors of the rows: the incumbent's cancel, the candidate's do not.
    const double of_row = row < 6 ? 1e-6 : -1e-6, other = row % 2 == 0 ? 1e-6 : -1e-6;
    for (size_t c = 0; c < 512; ++c) {
      const double x = 1 + 0.001 * random.Uniform();
      r.Set(row * 512 + c, x), d.Set(row * 512 + c, x + of_row), n.Set(row * 512 + c, x + other);
    }
  }
  TensorsToJudge tensors{.class_name = "E", .candidate = d.ref(), .truth = r.ref(), .incumbent = n.ref()};
  EXPECT_EQ(JudgeTensors(rules, tensors)->verdict.rules[2].state, RuleState::kBroken);
  tensors.independent = 8;
  EXPECT_EQ(JudgeTensors(rules, tensors)->verdict.rules[2].state, RuleState::kHolds);
}

TEST(Worst, NeverTheFirstNeverAMean) {
  Trial good, warned, failed;
  failed.candidate[0] = 2;
  std::vector<TensorVerdict> verdicts(8, good.Judge());
  const std::vector<std::string> labels = {"rank 0", "rank 1", "rank 2", "rank 3",
                                           "rank 4", "rank 5", "rank 6", "rank 7"};
  EXPECT_EQ(Worst(verdicts, labels).verdict, Verdict::kPass);
  verdicts[5] = failed.Judge();
  EXPECT_EQ(Worst(verdicts, labels).verdict, Verdict::kFail);
  EXPECT_EQ(Worst(verdicts, labels).from, "rank 5");
  EXPECT_EQ(Worst({}, {}).verdict, Verdict::kFail);
  EXPECT_EQ(Worst({}, {}).reason, "nothing was compared");
}

TEST(Worst, WhatOneRankCouldNotDecideStaysUnproven) {
  const TensorBand band{.runs = 5, .rel_l2 = 1e-6, .max_abs = 1e-6, .mean_error = 1e-6, .rmse = 1e-6};
  Trial with, without;
  with.band = &band;
  const std::vector<TensorVerdict> verdicts = {with.Judge(), without.Judge()};
  EXPECT_EQ(ToText(verdicts[0]), "pass");
  EXPECT_EQ(ToText(Worst(verdicts, {})), "pass (unproven: 4)");
}

TEST(Ranks, HoldTheSameBits) {
  const Owned a = Vector(DType::kF32, {1, 2}), b = Vector(DType::kF32, {1, 3}),
              c(DType::kF32, {2, 1}, {1, 2});
  EXPECT_EQ(RankDifference(std::vector{a.ref(), a.ref()}), "");
  EXPECT_EQ(RankDifference(std::vector{a.ref(), a.ref(), b.ref()}),
            "rank 2 holds 3 at element 1, rank 0 2; the same bits on all ranks are expected");
  EXPECT_EQ(RankDifference(std::vector{a.ref(), c.ref()}), "rank 1 holds f32[2, 1], rank 0 f32[2]");
}

}  // namespace
}  // namespace plinth::verify
