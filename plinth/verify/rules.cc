#include "plinth/verify/rules.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "plinth/base/text.h"
#include "plinth/verify/short_number.h"

namespace plinth::verify {
namespace {

using formats::ConstTensorRef;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Errors so much smaller than the incumbent's are not better arithmetic of the same kind but another kind.
constexpr double kSuspiciouslyBetter = 10;

double ShareOf(double measured, double limit) {
  return measured <= 0 ? 0 : limit > 0 ? measured / limit : kInfinity;
}

// One statistic of a rule.
struct Part {
  double measured, limit;
  std::string text;
};

// How many errors the mean of a difference is made of.
double IndependentErrors(const TensorEvidence& e, const Difference& d) {
  const int64_t all = std::max<int64_t>(d.finite_both, 1);
  return static_cast<double>(e.independent > 0 ? std::min(e.independent, all) : all);
}

// The rule is broken when any part is; the part nearest to its limit speaks.
RuleResult FromParts(int number, std::vector<Part> parts) {
  RuleResult result{.number = number, .state = RuleState::kHolds, .detail = ""};
  std::stable_sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) {
    return ShareOf(a.measured, a.limit) > ShareOf(b.measured, b.limit);
  });
  // Negated, so that a NaN breaks.
  for (const Part& p : parts) {
    if (!(ShareOf(p.measured, p.limit) <= 1)) result.state = RuleState::kBroken;
  }
  result.measured = parts[0].measured, result.limit = parts[0].limit;
  result.share = ShareOf(parts[0].measured, parts[0].limit);
  result.detail = Join(parts, "; ", [](const Part& p) { return p.text; });
  return result;
}

RuleResult Undecided(int number, std::string why) {
  return {.number = number, .state = RuleState::kUnproven, .detail = std::move(why)};
}
RuleResult Broken(int number, std::string why) {
  return {.number = number, .state = RuleState::kBroken, .detail = std::move(why), .share = kInfinity};
}
RuleResult NotApplicable(int number, std::string why) {
  return {.number = number, .state = RuleState::kNotApplicable, .detail = std::move(why)};
}

struct Problem {
  std::string text, kind;
};

// What contradicts between reference and candidate, where `d` compares the two.
Problem StructureProblem(const RuleSet& rules, const Difference& d, bool positions, int64_t subnormal_before,
                         int64_t subnormal_after) {
  if (d.b.canary > 0) return {StrCat(d.b.canary, " elements were never written"), "unwritten"};
  if (positions && d.nan_mismatch > 0) {
    return {StrCat("NaN on one side only at ", d.nan_mismatch, " places, first at ", d.first_mismatch),
            "not-finite"};
  }
  if (positions && d.inf_mismatch > 0) {
    return {StrCat("infinities differ at ", d.inf_mismatch, " places, first at ", d.first_mismatch),
            "not-finite"};
  }
  if (subnormal_before >= rules.subnormal_least &&
      static_cast<double>(subnormal_after) * rules.subnormal_drop < static_cast<double>(subnormal_before)) {
    return {StrCat("subnormal numbers fell from ", subnormal_before, " to ", subnormal_after,
                   ": flushed to zero"),
            "subnormals"};
  }
  return {};
}

Problem FindStructureProblem(const RuleSet& rules, const TensorEvidence& e, bool random) {
  if (!e.structure.empty()) return {e.structure, e.structure_kind};
  if (random) {
    // Where the numbers themselves are random, so are the places of what is special.
    const Difference* d = e.incumbent != nullptr ? e.incumbent : e.truth;
    return d == nullptr ? Problem{} : StructureProblem(rules, *d, false, 0, 0);
  }
  if (e.incumbent != nullptr) {
    const Difference& d = *e.incumbent;
    if (Problem problem = StructureProblem(rules, d, true, d.a.subnormal, d.subnormals_kept());
        !problem.text.empty())
      return problem;
  }
  if (e.truth == nullptr) return {};
  // The truth is wider: what overflows or is subnormal only once rounded to the candidate's type, the cap has
  // counted.
  const bool rounded = e.cap != nullptr && e.cap->decided;
  Problem problem = StructureProblem(rules, *e.truth, !rounded, rounded ? e.cap->truth_subnormal : 0,
                                     rounded ? e.cap->subnormal : 0);
  if (problem.text.empty() && rounded && e.cap->nonfinite > 0) {
    return {StrCat(e.cap->nonfinite, " elements are finite on one side only, first at ", e.cap->worst),
            "not-finite"};
  }
  return problem;
}

// NaN beside NaN is the same structure; a tensor with nothing else on both sides shows nothing.
Problem NothingFinite(const Difference* d) {
  if (d == nullptr || d->finite_both > 0 || d->nan_both() == 0) return {};
  return {StrCat("no element is finite on both sides (", d->nan_both(), " of ", d->count,
                 " are NaN on both): nothing was compared"),
          "not-finite"};
}

bool OnlyInfinities(const Difference* d) {
  return d != nullptr && d->count > 0 && d->finite_both == 0 && d->nan_both() == 0;
}

RuleResult JudgeStructure(const RuleSet& rules, const TensorEvidence& e, bool random, std::string* kind) {
  Problem problem = FindStructureProblem(rules, e, random);
  if (problem.text.empty()) problem = NothingFinite(e.incumbent);
  if (problem.text.empty()) problem = NothingFinite(e.truth);
  *kind = std::move(problem.kind);
  if (!problem.text.empty()) return Broken(1, std::move(problem.text));
  if (e.incumbent == nullptr && e.truth == nullptr) return Undecided(1, "nothing to compare with");
  return {
      .number = 1, .state = RuleState::kHolds, .detail = "same shape, type and places of NaN and infinities"};
}

RuleResult JudgeCap(const TensorEvidence& e) {
  if (e.cap == nullptr) return Undecided(2, "no truth was given");
  if (!e.cap->decided) return Undecided(2, e.cap->detail);
  return {.number = 2,
          .state = e.cap->broken ? RuleState::kBroken : RuleState::kHolds,
          .detail = e.cap->detail,
          .measured = e.cap->measured,
          .limit = e.cap->limit,
          .share = e.cap->share};
}

RuleResult JudgeIncumbent(const RuleSet& rules, const TensorEvidence& e, const TypeNumbers& numbers,
                          std::vector<std::string>* remarks) {
  if (e.truth == nullptr || e.incumbent_truth == nullptr) {
    return Undecided(3, e.truth == nullptr ? "no truth was given" : "no incumbent was given");
  }
  if (!e.truth_decides) return Undecided(3, "the truth is no wider than the result");
  const Difference &d = *e.truth, &n = *e.incumbent_truth;
  const double count = IndependentErrors(e, d);
  const double m = std::max(numbers.m, RuleSet::Raised(rules.m_raises, d.finite_both, 0));
  const double floor = rules.rms_floor * numbers.u_out * d.a.rms;
  const double largest = std::max(std::abs(d.a.min), std::abs(d.a.max));
  const double ratio = std::max(rules.max_ratio, m);
  const double standard_error = d.rmse / std::sqrt(count);
  const auto part = [](std::string_view name, double measured, double limit, std::string_view how) {
    return Part{measured, limit,
                StrCat(name, " ", ShortNumber(measured), ", at most ", ShortNumber(limit), " (", how, ")")};
  };
  RuleResult result = FromParts(
      3, {part("RMSE", d.rmse, m * n.rmse + floor,
               StrCat(ShortNumber(m), " times the incumbent's ", ShortNumber(n.rmse))),
          part("largest error", d.max_abs, ratio * n.max_abs + rules.max_floor * numbers.u_out * largest,
               StrCat(ShortNumber(ratio), " times the incumbent's ", ShortNumber(n.max_abs))),
          part("bias", std::abs(d.mean_error), rules.bias_sigmas * standard_error + std::abs(n.mean_error),
               StrCat(ShortNumber(rules.bias_sigmas), " standard errors and the incumbent's"))});
  if (n.rmse > floor && d.rmse * kSuspiciouslyBetter < n.rmse) {
    remarks->push_back(
        StrCat("its RMSE against the truth is ", ShortNumber(n.rmse / std::max(d.rmse, 1e-300)),
               " times smaller than the incumbent's: better than the reference is suspicious too; see "
               "that both ran the same inputs in the arithmetic they declare"));
  }
  return result;
}

RuleResult JudgeNoise(const RuleSet& rules, const TensorEvidence& e) {
  if (e.incumbent == nullptr) return Undecided(4, "no incumbent was given");
  if (e.band == nullptr) return Undecided(4, "no band was given");
  const Difference& d = *e.incumbent;
  const TensorBand& band = *e.band;
  if (band.bitwise) {
    const int64_t differ = d.unequal + d.nan_mismatch + d.inf_mismatch;
    RuleResult result{
        .number = 4, .state = differ == 0 ? RuleState::kHolds : RuleState::kBroken, .detail = ""};
    result.measured = static_cast<double>(differ), result.share = differ == 0 ? 0 : kInfinity;
    result.detail = StrCat(differ == 0 ? "the same bits, as in all " : "differs from the incumbent, whose ",
                           band.runs, differ == 0 ? " runs of the incumbent" : " runs gave the same bits");
    return result;
  }
  const auto part = [&](std::string_view name, double measured, double of_band, double more = 0) {
    const double limit = rules.noise_factor * of_band + more;
    return Part{
        measured, limit,
        StrCat(name, " ", ShortNumber(measured), ", at most ", ShortNumber(limit), " (",
               ShortNumber(rules.noise_factor), " x ", ShortNumber(of_band), " of ", band.runs, " runs)")};
  };
  // The mean of a few runs' errors can be zero by chance; its standard error cannot.
  const double count = IndependentErrors(e, d);
  const double standard_error = band.rmse / std::sqrt(count);
  return FromParts(
      4, {part("relative L2", d.rel_l2, band.rel_l2), part("largest difference", d.max_abs, band.max_abs),
          part("bias", std::abs(d.mean_error), band.mean_error, rules.bias_sigmas * standard_error)});
}

// The row of the table that turns exactly these broken rules into a warning; null where none does.
const Softening* SoftenedBy(const RuleSet& rules, const std::array<RuleState, 4>& states) {
  std::vector<int> broken;
  for (int number = 1; number <= 4; ++number) {
    if (states[static_cast<size_t>(number - 1)] == RuleState::kBroken) broken.push_back(number);
  }
  for (const Softening& row : rules.softenings) {
    const bool holds = std::all_of(row.holds.begin(), row.holds.end(), [&](int number) {
      return states[static_cast<size_t>(number - 1)] == RuleState::kHolds;
    });
    if (row.broken == broken && holds) return &row;
  }
  return nullptr;
}

void Conclude(const RuleSet& rules, const RuleClass& rule_class, TensorVerdict* v) {
  std::array<RuleState, 4> states;
  std::vector<std::string> broken;
  for (size_t i = 0; i < 4; ++i) {
    states[i] = v->rules[i].state;
    if (states[i] == RuleState::kBroken) broken.push_back(StrCat("rule ", i + 1, ": ", v->rules[i].detail));
  }
  v->verdict = VerdictOf(rules, states);
  if (v->verdict == Verdict::kPass) {
    const std::vector<int> unproven = v->Unproven();
    if (rule_class.band_required && states[3] == RuleState::kUnproven) {
      v->verdict = Verdict::kWarn;
      v->reason = StrCat("class ", rule_class.name, " (", rule_class.title, ") cannot pass without a band");
    } else if (!unproven.empty()) {
      v->reason = StrCat("unproven: ", Join(unproven, ", "));
    }
    return;
  }
  v->reason = Join(broken, "; ");
  if (const Softening* row = SoftenedBy(rules, states); row != nullptr) {
    v->reason = StrCat(row->reason, "; ", v->reason);
  } else if (states[0] != RuleState::kBroken && states[1] != RuleState::kBroken && broken.size() == 1) {
    StrAppend(&v->reason, "; a failure, as nothing else bounds the error: rule ",
              states[0] == RuleState::kHolds ? 2 : 1, " is unproven");
  }
}

}  // namespace

std::string_view VerdictName(Verdict verdict) {
  static constexpr std::string_view kNames[] = {"pass", "warn", "fail"};
  return kNames[static_cast<int>(verdict)];
}

std::string_view RuleStateName(RuleState state) {
  static constexpr std::string_view kNames[] = {"holds", "broken", "unproven", "not applicable"};
  return kNames[static_cast<int>(state)];
}

std::vector<int> TensorVerdict::Unproven() const {
  std::vector<int> numbers;
  for (const RuleResult& r : rules) {
    if (r.state == RuleState::kUnproven) numbers.push_back(r.number);
  }
  return numbers;
}

bool TensorVerdict::judged() const {
  return std::any_of(rules.begin() + 1, rules.end(), [](const RuleResult& r) {
    return r.state == RuleState::kHolds || r.state == RuleState::kBroken;
  });
}

std::string ToText(const TensorVerdict& verdict) {
  std::string text(verdict.verdict == Verdict::kPass && !verdict.judged() ? "unproven"
                                                                          : VerdictName(verdict.verdict));
  const std::vector<int> unproven = verdict.Unproven();
  if (!unproven.empty()) StrAppend(&text, " (unproven: ", Join(unproven, ", "), ")");
  if (!verdict.waiver.empty()) text += " (waived)";
  return text;
}

// No broken rule is a pass; a broken one is a failure, unless a row softens exactly what is broken. A row
// cannot give a pass, and an unproven rule does not hold.
Verdict VerdictOf(const RuleSet& rules, const std::array<RuleState, 4>& states) {
  const bool broken =
      std::any_of(states.begin(), states.end(), [](RuleState s) { return s == RuleState::kBroken; });
  if (!broken) return Verdict::kPass;
  return SoftenedBy(rules, states) != nullptr ? Verdict::kWarn : Verdict::kFail;
}

StatusOr<TensorVerdict> Judge(const RuleSet& rules, const TensorEvidence& e) {
  const RuleClass* rule_class = e.class_name.empty() ? &rules.ClassOf(e.op) : rules.Find(e.class_name);
  if (rule_class == nullptr) {
    return absl::InvalidArgumentError(
        StrCat("class ", e.class_name, ": there are ", Join(ClassNames(), ", ")));
  }
  NumberType type = NumberType::kF32;
  if (e.type.has_value()) {
    type = *e.type;
  } else if (const Difference* d = e.truth != nullptr ? e.truth : e.incumbent; d != nullptr) {
    type = NumberTypeOf(InfoOf(d->element_b).name).value_or(NumberType::kInt);
  }
  const LimitKind kind = rule_class->limit(type).kind;
  TensorVerdict v;
  v.rule_class = rule_class->name;
  v.rules[0] = JudgeStructure(rules, e, kind == LimitKind::kDistribution, &v.fault_kind);
  v.rules[1] = JudgeCap(e);
  if (v.fault_kind.empty() && e.cap != nullptr && e.cap->broken) v.fault_kind = e.cap->fault_kind;
  const bool decided = e.cap != nullptr && e.cap->decided;
  std::string_view no_more;
  if (decided && kind == LimitKind::kBitwise) no_more = "one right answer: rule 2 says all";
  if (kind == LimitKind::kDistribution) no_more = "random numbers are compared by their distribution";
  if (kind == LimitKind::kLsb || kind == LimitKind::kCodes)
    no_more = "whole numbers and codes: rule 2 says all";
  if (!no_more.empty()) {
    v.rules[2] = NotApplicable(3, std::string(no_more));
    v.rules[3] = NotApplicable(4, std::string(no_more));
  } else {
    // Whole numbers have no roundoff; what they were computed from was at best half precision.
    const NumberType floating = type == NumberType::kInt ? NumberType::kF16 : type;
    v.rules[2] = JudgeIncumbent(rules, e, rules.type(floating), &v.remarks);
    v.rules[3] = JudgeNoise(rules, e);
    if (v.fault_kind.empty() && !v.remarks.empty()) v.fault_kind = "better";
    const bool bits = e.band != nullptr && e.band->bitwise;
    if (v.fault_kind.empty() && bits && v.rules[3].state == RuleState::kBroken)
      v.fault_kind = "not-repeatable";
  }
  const Difference* any = e.truth != nullptr ? e.truth : e.incumbent;
  if (OnlyInfinities(any) && v.rules[0].state == RuleState::kHolds && kind != LimitKind::kBitwise) {
    for (int number = 2; number <= 4; ++number)
      v.rules[static_cast<size_t>(number - 1)] =
          Undecided(number, "only infinities, the same on both sides: no number was compared");
  }
  if (any != nullptr && any->nan_both() > 0 && any->finite_both > 0) {
    v.remarks.push_back(StrCat(any->nan_both(), " of ", any->count,
                               " elements are NaN in the same places on both sides: no limit says anything "
                               "about them"));
  }
  if (e.truth != nullptr && e.incumbent_truth != nullptr && e.truth->nan_mismatch > 0 &&
      e.truth->nan_mismatch == e.incumbent_truth->nan_mismatch) {
    v.remarks.push_back("candidate and incumbent hold as many NaN where the truth holds numbers");
  }
  Conclude(rules, *rule_class, &v);
  return v;
}

}  // namespace plinth::verify
