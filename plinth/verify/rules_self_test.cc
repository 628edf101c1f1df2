// Plants known faults and sees each verdict come out. Sizes of faults are fixed here, never taken from the
// rule set.
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <vector>

#include "plinth/base/random.h"
#include "plinth/base/text.h"
#include "plinth/verify/placed.h"
#include "plinth/verify/rules.h"

namespace plinth::verify {
namespace {

using formats::ConstTensorRef;

constexpr int64_t kRows = 64, kColumns = 64, kCount = kRows * kColumns;
// K of every planted product.
constexpr double kTerms = 1024;

// What a type's planted errors are, as relative L2 errors of a product of K = 1024.
struct TypeFaults {
  NumberType type;
  DType stored;
  double natural;  // an ordinary result of this arithmetic
  double coarser;  // what the next coarser arithmetic leaves
  double fine;     // of an incumbent that computes well
  double rough;    // more than the allowed multiple of `fine`, and within the limit of class G
  double row_sum;  // within the limit of class E, and too much for the sum of a row
};
constexpr TypeFaults kTypes[] = {
    {NumberType::kF64, DType::kF64, 3e-16, 1e-7, 3e-16, 1.2e-15, 5e-14},
    {NumberType::kF32, DType::kF32, 2e-7, 2.9e-4, 2e-7, 8e-7, 5e-6},
    {NumberType::kTf32, DType::kF32, 2.9e-4, 2.4e-3, 1e-4, 4e-4, 5e-6},
    {NumberType::kF16, DType::kF16, 2.1e-4, 2.45e-3, 2e-5, 4e-4, 1.5e-3},
    {NumberType::kBF16, DType::kBF16, 1.66e-3, 5e-2, 1.5e-4, 3.2e-3, 9e-3},
};

// Numbers in memory as a tensor of one type.
class Numbers {
 public:
  Numbers(DType dtype, const std::vector<double>& values, int64_t columns = kColumns) : dtype_(dtype) {
    dims_ = {static_cast<int64_t>(values.size()) / columns, columns};
    bytes_.resize(values.size() * static_cast<size_t>(SizeOf(dtype)));
    for (size_t i = 0; i < values.size(); ++i) Set(i, values[i]);
  }
  void Set(size_t i, double x) { StoreElement(dtype_, At(i), x); }
  double Get(size_t i) const {
    return LoadElement(dtype_, bytes_.data() + i * static_cast<size_t>(SizeOf(dtype_)));
  }
  size_t count() const { return bytes_.size() / static_cast<size_t>(SizeOf(dtype_)); }
  std::vector<double> values() const {
    std::vector<double> all(count());
    for (size_t i = 0; i < all.size(); ++i) all[i] = Get(i);
    return all;
  }
  ConstTensorRef ref() const {
    return {.name = "self-test",
            .dtype = dtype_,
            .dims = dims_,
            .data = bytes_.data(),
            .bytes = static_cast<int64_t>(bytes_.size())};
  }
  std::byte* At(size_t i) { return bytes_.data() + i * static_cast<size_t>(SizeOf(dtype_)); }

 private:
  DType dtype_;
  std::vector<int64_t> dims_;
  std::vector<std::byte> bytes_;
};

std::vector<double> Normal(int64_t count, double deviation, uint64_t seed) {
  Random random(seed);
  std::vector<double> x(static_cast<size_t>(count));
  for (double& v : x) v = deviation * random.Normal();
  return x;
}

double Norm(const std::vector<double>& x) {
  double sum = 0;
  for (const double v : x) sum += v * v;
  return std::sqrt(sum);
}

// `right` (representable in the type) with errors of whole units in the last place, of random sign, at
// randomly chosen elements, so that the relative L2 error is `level` whatever the type rounds to.
Numbers WithError(DType dtype, const std::vector<double>& right, double level, uint64_t seed) {
  Numbers result(dtype, right);
  const double size = Norm(right);
  double unit2 = 0;  // of one unit everywhere
  for (const double x : right) unit2 += std::pow(ops::Ulp(dtype, x), 2);
  const double steps = std::max(1.0, std::ceil(level * size / std::sqrt(unit2)));
  const double share = std::pow(level * size / (steps * std::sqrt(unit2)), 2);
  Random random(seed);
  for (size_t i = 0; i < right.size(); ++i) {
    const bool up = random.Uniform() < 0.5;
    if (random.Uniform() >= share) continue;
    result.Set(i, right[i] + (up ? steps : -steps) * ops::Ulp(dtype, right[i]));
  }
  return result;
}

std::vector<double> Representable(DType dtype, std::vector<double> x) { return Numbers(dtype, x).values(); }

// The harness: remembers the first thing that was missed.
class Harness {
 public:
  explicit Harness(const RuleSet& rules) : rules_(rules) {}
  const std::string& missed() const { return missed_; }

  void Expect(bool seen, const std::string& what) {
    if (!seen && missed_.empty()) missed_ = what;
  }

  // `broken` lists the rules that must be broken, no other may be.
  void ExpectVerdict(const TensorsToJudge& tensors, Verdict verdict, const std::vector<int>& broken,
                     const std::string& what) {
    if (!missed_.empty()) return;
    const StatusOr<JudgedTensor> judged = JudgeTensors(rules_, tensors);
    if (!judged.ok()) return Expect(false, StrCat(what, ": ", judged.status().message()));
    std::vector<int> found;
    for (const RuleResult& r : judged->verdict.rules) {
      if (r.state == RuleState::kBroken) found.push_back(r.number);
    }
    Expect(judged->verdict.verdict == verdict && found == broken,
           StrCat(what, ": ", VerdictName(verdict), " by ", broken.empty() ? "no rule" : "rule ",
                  Join(broken, ", "), " was expected, ", ToText(judged->verdict),
                  found.empty() ? "" : StrCat(" by ", Join(found, ", ")), " came out"));
  }

  void ExpectCap(std::string_view name, const ConstTensorRef& r, const ConstTensorRef& d, CapOptions options,
                 bool broken, const std::string& what) {
    const RuleClass* rule_class = rules_.Find(name);
    if (rule_class == nullptr) return Expect(false, StrCat("class ", name, " is missing"));
    if (!missed_.empty()) return;
    options.truth_rounded = true;
    const StatusOr<CapResult> cap = CheckCap(rules_, *rule_class, r, d, options);
    Expect(cap.ok() && cap->decided && cap->broken == broken,
           StrCat("class ", name, ", ", NumberTypeName(options.type), ": ", what,
                  broken ? " was not noticed" : " was refused"));
  }

  const RuleSet& rules() const { return rules_; }

 private:
  const RuleSet& rules_;
  std::string missed_;
};

void TestTable(Harness& h) {
  constexpr RuleState kStates[] = {RuleState::kHolds, RuleState::kBroken, RuleState::kUnproven,
                                   RuleState::kNotApplicable};
  for (int code = 0; code < 256; ++code) {
    std::array<RuleState, 4> s;
    for (int i = 0; i < 4; ++i) s[static_cast<size_t>(i)] = kStates[(code >> (2 * i)) & 3];
    const auto broken = [&](size_t number) { return s[number - 1] == RuleState::kBroken; };
    const bool bounded = s[0] == RuleState::kHolds && s[1] == RuleState::kHolds;
    const Verdict expected = !broken(1) && !broken(2) && !broken(3) && !broken(4) ? Verdict::kPass
                             : bounded && broken(3) != broken(4)                  ? Verdict::kWarn
                                                                                  : Verdict::kFail;
    h.Expect(VerdictOf(h.rules(), s) == expected,
             StrCat("rules that are ", Join(s, ", ", RuleStateName), " do not give ", VerdictName(expected)));
  }
}

// A product of one type: the truth, an incumbent, and what is planted.
class Product {
 public:
  Product(Harness& h, const TypeFaults& faults)
      : h_(h),
        f_(faults),
        right_(Representable(faults.stored, Normal(kCount, std::sqrt(kTerms), 1))),
        truth_(DType::kF64, right_),
        incumbent_(Error(faults.fine, 2)) {}

  void Test() {
    const TensorBand wide = BandOf(6 * f_.rough), narrow = BandOf(f_.rough / 8);
    Plant(Error(f_.fine, 3), wide, Verdict::kPass, {}, "a result as good as the incumbent's");
    Plant(Error(f_.rough, 4), wide, Verdict::kWarn, {3},
          "a result that errs more than the incumbent, within the noise");
    Plant(Error(f_.fine, 5), BandOf(f_.fine / 3), Verdict::kWarn, {4},
          "a result outside the noise and as good as the incumbent's");
    Plant(Error(f_.rough, 6), narrow, Verdict::kFail, {3, 4},
          "a result that errs more and lies outside the noise");
    Plant(Error(f_.coarser, 7), BandOf(6 * f_.coarser), Verdict::kFail, {2, 3},
          "the next coarser arithmetic");
    Numbers broken = Error(f_.fine, 8);
    broken.Set(kCount / 2, NAN);
    Plant(broken, wide, Verdict::kFail, {1, 2}, "NaN in place of a number");
    // Both sides in the coarser arithmetic: only the truth can tell.
    incumbent_ = Error(f_.coarser, 9);
    Plant(Error(f_.coarser, 10), BandOf(6 * f_.coarser), Verdict::kFail, {2},
          "both sides in the next coarser arithmetic");
    incumbent_ = Numbers(f_.stored, right_);
    TestFloors(wide);
  }

 private:
  Numbers Error(double level, uint64_t seed) const { return WithError(f_.stored, right_, level, seed); }

  TensorBand BandOf(double level) const {
    const double rms = level * std::sqrt(kTerms);
    return {.runs = 5, .rel_l2 = level, .max_abs = 10 * rms, .mean_error = rms, .rmse = rms};
  }

  void Plant(const Numbers& d, const TensorBand& band, Verdict verdict, const std::vector<int>& broken,
             std::string_view what) {
    TensorsToJudge t{.op = "matmul",
                     .class_name = "G",
                     .candidate = d.ref(),
                     .truth = truth_.ref(),
                     .incumbent = incumbent_.ref(),
                     .band = &band,
                     .canary = {},
                     .arithmetic = NumberTypeName(f_.type)};
    t.cap.terms = kTerms;
    t.cap.truth_rounded = true;
    h_.ExpectVerdict(t, verdict, broken, StrCat(NumberTypeName(f_.type), ": ", what));
  }

  // Against an incumbent without any error.
  void TestFloors(const TensorBand& wide) {
    Plant(Numbers(f_.stored, right_), BandOf(f_.fine), Verdict::kPass, {}, "the incumbent's own bits");
    Numbers one(f_.stored, right_);
    const auto largest =
        static_cast<size_t>(std::max_element(right_.begin(), right_.end(),
                                             [](double a, double b) { return std::abs(a) < std::abs(b); }) -
                            right_.begin());
    one.Set(largest, right_[largest] + 4 * ops::Ulp(f_.stored, right_[largest]));
    Plant(one, wide, Verdict::kWarn, {3}, "one element off where the incumbent is exact");
    TensorBand bitwise{.runs = 5, .bitwise = true};
    Numbers unit(f_.stored, right_);
    unit.Set(0, right_[0] + ops::Ulp(f_.stored, right_[0]));
    incumbent_ = unit;
    unit.Set(1, right_[1] + ops::Ulp(f_.stored, right_[1]));
    Plant(unit, bitwise, Verdict::kWarn, {4}, "one bit where all runs gave the same bits");
  }

  Harness& h_;
  const TypeFaults& f_;
  std::vector<double> right_;
  Numbers truth_, incumbent_;
};

// Rule 1 and 3 in f32, where they need no other type.
void TestStructure(Harness& h) {
  const std::vector<double> right = Representable(DType::kF32, Normal(kCount, 1, 11));
  const Numbers n(DType::kF32, right);
  const TensorBand band{.runs = 5, .rel_l2 = 1e30, .max_abs = 1e30, .mean_error = 1e30, .rmse = 1e30};
  const auto plant = [&](const Numbers& incumbent, const Numbers& d, std::optional<uint64_t> canary,
                         std::string_view what) {
    h.ExpectVerdict({.class_name = "G",
                     .candidate = d.ref(),
                     .truth = {},
                     .incumbent = incumbent.ref(),
                     .band = &band,
                     .canary = canary},
                    Verdict::kFail, {1}, std::string(what));
  };
  Numbers infinite = n;
  infinite.Set(7, INFINITY);
  plant(n, infinite, {}, "infinity in place of a number");
  Numbers positive = infinite, negative = infinite;
  negative.Set(7, -INFINITY);
  plant(positive, negative, {}, "infinity of the wrong sign");
  Numbers unwritten = n;
  const float pattern = 12345.678F;
  unwritten.Set(9, pattern);
  plant(n, unwritten, std::bit_cast<uint32_t>(pattern), "an element that was never written");
  Numbers tiny = n, flushed = n;
  for (size_t i = 0; i < 1000; ++i) {
    tiny.Set(i, 1e-39);
    flushed.Set(i, i % 20 == 0 ? 1e-39 : 0);
  }
  plant(tiny, flushed, {}, "subnormal numbers flushed to zero");
  const Numbers other(DType::kF32, right, 2 * kColumns);
  plant(n, other, {}, "another shape");
  const Numbers half(DType::kF16, right);
  plant(n, half, {}, "another type");
  h.ExpectVerdict({.class_name = "G", .candidate = {}, .truth = {}, .incumbent = n.ref()}, Verdict::kFail,
                  {1}, "a missing tensor");
}

// Small tensors are allowed more, and not everything.
void TestSmall(Harness& h) {
  const TensorBand band{.runs = 5, .rel_l2 = 1e30, .max_abs = 1e30, .mean_error = 1e30, .rmse = 1e30};
  const auto plant = [&](int64_t count, double ratio, bool broken) {
    // Errors alternate, so that there is no bias.
    const std::vector<double> right(static_cast<size_t>(count), 1.0);
    std::vector<double> ours = right, theirs = right;
    for (size_t i = 0; i < right.size(); ++i) {
      const double error = (i % 2 == 0 ? 1 : -1) * 0x1p-22;
      theirs[i] += error, ours[i] += ratio * error;
    }
    const Numbers r(DType::kF64, right, count), d(DType::kF32, ours, count), n(DType::kF32, theirs, count);
    TensorsToJudge t{.class_name = "E",
                     .candidate = d.ref(),
                     .truth = r.ref(),
                     .incumbent = n.ref(),
                     .band = &band,
                     .canary = {}};
    t.cap.scale.whole = 100;
    h.ExpectVerdict(t, broken ? Verdict::kWarn : Verdict::kPass,
                    broken ? std::vector<int>{3} : std::vector<int>{},
                    StrCat(count, " elements with ", ratio, " times the incumbent's error"));
  };
  plant(6, 8, false);
  plant(6, 14, true);
  plant(100, 4, false);
  plant(100, 7, true);
  plant(2000, 1.75, false);
  plant(2000, 3, true);
}

// One element far off in a large tensor: only its own limit, or the ratio of the largest errors, can see it.
void TestSpike(Harness& h) {
  const int64_t count = 16384;
  const TensorBand band{.runs = 5, .rel_l2 = 1e30, .max_abs = 1e30, .mean_error = 1e30, .rmse = 1e30};
  for (const TypeFaults& f : kTypes) {
    const std::vector<double> right = Representable(f.stored, Normal(count, std::sqrt(kTerms), 12));
    const Numbers r(DType::kF64, right);
    Numbers d(f.stored, right);
    const double off =
        f.type == NumberType::kTf32 ? 10 * kTerms : 100 * std::sqrt(kTerms) * std::max(f.natural, 1e-4);
    d.Set(100, right[100] + off);
    CapOptions options{.type = f.type, .terms = kTerms, .scale = {}};
    options.scale.whole = kTerms;
    options.truth_rounded = true;
    const StatusOr<CapResult> cap = CheckCap(h.rules(), *h.rules().Find("G"), r.ref(), d.ref(), options);
    h.Expect(cap.ok() && cap->outside == 1 && cap->worst == 100,
             StrCat(NumberTypeName(f.type), ": one element far off was not found"));
    options.scale.whole = 0;
    const StatusOr<CapResult> estimated =
        CheckCap(h.rules(), *h.rules().Find("G"), r.ref(), d.ref(), options);
    h.Expect(estimated.ok() && estimated->outside == 1 && estimated->worst == 100,
             StrCat(NumberTypeName(f.type), ": one element far off was not found by an estimated scale"));
  }
  // Within the hard cap, twenty times the incumbent's largest error.
  const std::vector<double> right = Representable(DType::kF32, Normal(count, std::sqrt(kTerms), 13));
  const Numbers r(DType::kF64, right), n = WithError(DType::kF32, right, 2e-7, 14);
  Numbers d = WithError(DType::kF32, right, 2e-7, 15);
  double most = 0;
  for (size_t i = 0; i < right.size(); ++i) most = std::max(most, std::abs(n.Get(i) - right[i]));
  d.Set(100, right[100] + 12 * most);
  TensorsToJudge t{.class_name = "G",
                   .candidate = d.ref(),
                   .truth = r.ref(),
                   .incumbent = n.ref(),
                   .band = &band,
                   .canary = {}};
  t.cap.terms = kTerms, t.cap.scale.whole = kTerms;
  h.ExpectVerdict(t, Verdict::kWarn, {3}, "one element with 12 times the incumbent's largest error");
  // Truncated instead of rounded: every error towards zero.
  Numbers truncated = n;
  for (size_t i = 0; i < right.size(); ++i) truncated.Set(i, right[i] + std::abs(n.Get(i) - right[i]) * 0.5);
  TensorsToJudge biased = t;
  biased.candidate = truncated.ref();
  h.ExpectVerdict(biased, Verdict::kWarn, {3}, "errors of one sign");
}

// Every class in every type: a natural result is let through, a spoilt one is not.
void TestClass(Harness& h, const RuleClass& c, const TypeFaults& f) {
  const Limit& limit = c.limit(f.type);
  const CapOptions options{.type = f.type, .terms = kTerms, .scale = {}};
  const std::vector<double> right = Representable(f.stored, Normal(kCount, 1, 16));
  const Numbers r(DType::kF64, right), same(f.stored, right);
  const auto steps = [&](double ulps, size_t every) {
    Numbers d(f.stored, right);
    for (size_t i = 0; i < right.size(); i += every) d.Set(i, right[i] + ulps * ops::Ulp(f.stored, right[i]));
    return d;
  };
  h.Expect(limit.kind != LimitKind::kUndefined,
           StrCat("class ", c.name, " has no limit for ", NumberTypeName(f.type)));
  if (limit.kind == LimitKind::kDistribution) {
    const auto sample = [&](double deviation, double mean, uint64_t seed) {
      std::vector<double> x = Normal(8192, deviation, seed);
      for (double& v : x) v += mean;
      return Numbers(f.stored, x);
    };
    const Numbers one = sample(1, 0, 17), two = sample(1, 0, 18), shifted = sample(1, 0.2, 19),
                  wider = sample(1.2, 0, 20);
    h.ExpectCap(c.name, one.ref(), two.ref(), options, false, "another sample of one distribution");
    h.ExpectCap(c.name, one.ref(), shifted.ref(), options, true, "a shifted distribution");
    h.ExpectCap(c.name, one.ref(), wider.ref(), options, true, "a wider distribution");
    return;
  }
  h.ExpectCap(c.name, r.ref(), same.ref(), options, false, "the right result");
  if (limit.kind == LimitKind::kBitwise) {
    h.ExpectCap(c.name, r.ref(), steps(1, kCount).ref(), options, true, "one unit in one element");
  } else if (limit.kind == LimitKind::kUlp) {
    h.ExpectCap(c.name, r.ref(), steps(1, 2).ref(), options, false, "one unit in the last place");
    h.ExpectCap(c.name, r.ref(), steps(16, kCount).ref(), options, true, "16 units in one element");
    CapOptions relaxed = options;
    relaxed.relaxed = true;
    h.ExpectCap(c.name, r.ref(), steps(16, kCount).ref(), relaxed, true,
                "16 units in one element of a relaxed operator");
  } else {
    h.ExpectCap(c.name, r.ref(), WithError(f.stored, right, f.natural, 21).ref(), options, false,
                "a natural result");
    const double bad = f.type == NumberType::kF64 ? 3e-12 : f.type == NumberType::kF32 ? 1e-4 : f.coarser;
    h.ExpectCap(c.name, r.ref(), WithError(f.stored, right, bad, 22).ref(), options, true,
                "the next coarser arithmetic");
  }
}

void TestRowSums(Harness& h) {
  for (const TypeFaults& f : kTypes) {
    std::vector<double> p = Normal(kCount, 1, 23);
    for (size_t row = 0; row < kRows; ++row) {
      double sum = 0;
      for (size_t i = 0; i < kColumns; ++i) sum += p[row * kColumns + i] = std::exp(p[row * kColumns + i]);
      for (size_t i = 0; i < kColumns; ++i) p[row * kColumns + i] /= sum;
    }
    p = Representable(f.stored, p);
    std::vector<double> wrong = p;
    for (double& x : wrong) x *= 1 + f.row_sum;
    const Numbers r(DType::kF64, p), d(f.stored, wrong), right(f.stored, p);
    CapOptions options{.type = f.type, .terms = kColumns, .condition = 5, .scale = {}};
    options.row_sums = true;
    h.ExpectCap("E", r.ref(), right.ref(), options, false, "rows that sum to 1");
    h.ExpectCap("E", r.ref(), d.ref(), options, true, "rows that do not sum to 1");
  }
}

void TestWhole(Harness& h) {
  std::vector<double> x = Normal(kCount, 40, 24);
  for (double& v : x) v = std::clamp(std::nearbyint(v), -120.0, 120.0);
  const Numbers r(DType::kI8, x);
  const CapOptions options{.type = NumberType::kInt, .scale = {}};
  const auto off = [&](double by, size_t every) {
    std::vector<double> y = x;
    for (size_t i = 0; i < y.size(); i += every) y[i] += by;
    return Numbers(DType::kI8, y);
  };
  for (const RuleClass& c : h.rules().classes) {
    const LimitKind kind = c.limit(NumberType::kInt).kind;
    if (kind == LimitKind::kLsb || kind == LimitKind::kCodes) continue;
    if (kind != LimitKind::kBitwise) continue;
    h.ExpectCap(c.name, r.ref(), r.ref(), options, false, "the right whole numbers");
    h.ExpectCap(c.name, r.ref(), off(1, kCount).ref(), options, true, "one whole number off by one");
  }
  for (const char* exact : {"A", "A'", "B", "C", "D", "G", "J"}) {
    h.Expect(h.rules().Find(exact)->limit(NumberType::kInt).kind == LimitKind::kBitwise,
             StrCat("class ", exact, ": whole numbers are not compared bit by bit"));
  }
  h.ExpectCap("I", r.ref(), off(1, 200).ref(), options, false, "half a percent off by one");
  h.ExpectCap("I", r.ref(), off(1, 20).ref(), options, true, "five percent off by one");
  h.ExpectCap("I", r.ref(), off(2, kCount).ref(), options, true, "a whole number off by two");
  // The same bytes as codes of an 8-bit float.
  std::vector<double> codes(kCount), next(kCount), many(kCount), far(kCount);
  for (size_t i = 0; i < codes.size(); ++i) {
    codes[i] = static_cast<double>(20 + i % 80);
    next[i] = codes[i] + (i % 200 == 0), many[i] = codes[i] + (i % 20 == 0),
    far[i] = codes[i] + (i == 0 ? 2 : 0);
  }
  const auto float8 = [](const Numbers& n) {
    ConstTensorRef ref = n.ref();
    ref.stored = "F8_E4M3";
    return ref;
  };
  const Numbers c(DType::kU8, codes), n(DType::kU8, next), m(DType::kU8, many), w(DType::kU8, far);
  h.ExpectCap("I'", float8(c), float8(n), options, false, "half a percent off by one code");
  h.ExpectCap("I'", float8(c), float8(m), options, true, "five percent off by one code");
  h.ExpectCap("I'", float8(c), float8(w), options, true, "one element off by two codes");
}

void TestFlags(Harness& h) {
  h.Expect(h.rules().Find("J")->identical_ranks, "class J does not ask for the same bits on all ranks");
  h.Expect(h.rules().Find("H")->band_required, "class H does not ask for a band");
  const Numbers a(DType::kF32, Normal(kCount, 1, 25));
  Numbers b = a;
  b.Set(17, b.Get(17) + 1e-6);
  h.Expect(RankDifference(std::vector{a.ref(), a.ref()}).empty(), "equal ranks were found different");
  h.Expect(!RankDifference(std::vector{a.ref(), a.ref(), b.ref()}).empty(),
           "a rank with other bits was not noticed");
  const Numbers order(DType::kI64, {2, 0, 1, 3}, 4), outside(DType::kI64, {2, 0, 1, 4}, 4),
      twice(DType::kI64, {2, 0, 0, 3}, 4);
  h.Expect(OrderProblem({.indices = order.ref(), .range = 4}).empty(), "good indices were refused");
  h.Expect(!OrderProblem({.indices = outside.ref(), .range = 4}).empty(),
           "an index out of range was not noticed");
  h.Expect(!OrderProblem({.indices = twice.ref(), .range = 4}).empty(),
           "an index that stands twice was not noticed");
}

}  // namespace

std::string SelfTest(const RuleSet& rules) {
  Harness h(rules);
  TestTable(h);
  TestFlags(h);
  TestStructure(h);
  TestWhole(h);
  for (const TypeFaults& f : kTypes) {
    if (h.missed().empty()) Product(h, f).Test();
  }
  for (const RuleClass& c : rules.classes) {
    for (const TypeFaults& f : kTypes) {
      if (!h.missed().empty()) return h.missed();
      // Only products, and what is made of them, round their inputs.
      const bool rounds_inputs = c.name == "E" || c.name == "G" || c.name == "G'";
      TestClass(h, c, f.type == NumberType::kTf32 && !rounds_inputs ? kTypes[1] : f);
    }
  }
  TestSmall(h);
  TestRowSums(h);
  if (h.missed().empty()) TestSpike(h);
  return h.missed();
}

}  // namespace plinth::verify
