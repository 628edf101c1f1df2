// Judging whole tensors: comparing what is there, folding ranks and repeats, bits across ranks, indices.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <set>

#include "plinth/base/text.h"
#include "plinth/verify/element.h"
#include "plinth/verify/rules.h"
#include "plinth/verify/short_number.h"

namespace plinth::verify {
namespace {

using formats::ConstTensorRef;

std::string TypeAndShape(const ConstTensorRef& t) {
  return StrCat(InfoOf(ElementOf(t)).name, "[", Join(t.dims, ", "), "]");
}

bool SameShape(const ConstTensorRef& a, const ConstTensorRef& b) {
  return std::equal(a.dims.begin(), a.dims.end(), b.dims.begin(), b.dims.end());
}

// What keeps the candidate from being compared with `other`; a truth may be of a wider type.
std::string Mismatch(const ConstTensorRef& candidate, const ConstTensorRef& other, bool is_truth,
                     std::string* kind) {
  const bool types = is_truth || ElementOf(candidate) == ElementOf(other);
  if (types && SameShape(candidate, other)) return "";
  *kind = types ? "shape" : "type";
  return StrCat(TypeAndShape(candidate), " instead of ", TypeAndShape(other));
}

struct Comparisons {
  JudgedTensor judged;
  std::optional<CapResult> cap;
  std::string structure, structure_kind;
};

Status CompareAll(const RuleSet& rules, const RuleClass& rule_class, const TensorsToJudge& t, NumberType type,
                  Comparisons* out) {
  const ConstTensorRef& d = *t.candidate;
  DifferOptions options;
  options.canary = t.canary;
  options.threads = t.threads;
  if (t.incumbent.has_value()) out->structure = Mismatch(d, *t.incumbent, false, &out->structure_kind);
  if (t.truth.has_value() && out->structure.empty())
    out->structure = Mismatch(d, *t.truth, true, &out->structure_kind);
  if (!out->structure.empty()) return absl::OkStatus();
  if (t.truth.has_value()) {
    PLINTH_ASSIGN_OR_RETURN(out->judged.truth, Differ(*t.truth, d, options));
  }
  if (t.incumbent.has_value()) {
    PLINTH_ASSIGN_OR_RETURN(out->judged.incumbent, Differ(*t.incumbent, d, options));
    if (t.truth.has_value()) {
      PLINTH_ASSIGN_OR_RETURN(out->judged.incumbent_truth, Differ(*t.truth, *t.incumbent, options));
    }
  }
  // Where one answer is right or none is, the incumbent is as good as a truth.
  const LimitKind kind = rule_class.limit(type).kind;
  const bool stands_in = kind == LimitKind::kBitwise || kind == LimitKind::kLsb ||
                         kind == LimitKind::kCodes || kind == LimitKind::kDistribution;
  const std::optional<ConstTensorRef>& reference = t.truth.has_value() || !stands_in ? t.truth : t.incumbent;
  if (!reference.has_value()) return absl::OkStatus();
  CapOptions cap = t.cap;
  cap.type = type;
  cap.relaxed = rule_class.Relaxed(t.op);
  PLINTH_ASSIGN_OR_RETURN(out->cap, CheckCap(rules, rule_class, *reference, d, cap));
  if (rule_class.name != "A'" || type != NumberType::kInt || !out->cap->broken) return absl::OkStatus();
  if (!t.order_input.has_value() && !t.order_values.has_value()) return absl::OkStatus();
  // Equal values may stand in any order.
  const std::string problem = OrderProblem({d, *reference, t.order_values, t.order_input});
  out->cap->broken = !problem.empty();
  out->cap->fault_kind = problem.empty() ? "" : "indices";
  out->cap->share = problem.empty() ? 0 : std::numeric_limits<double>::infinity();
  out->cap->detail = problem.empty() ? "the same indices but for the order of equal values" : problem;
  return absl::OkStatus();
}

// A truth no wider than the result cannot say which of two is nearer to it.
bool Wider(const TensorsToJudge& t) {
  return t.cap.truth_rounded || InfoOf(ElementOf(*t.truth)).digits > InfoOf(ElementOf(*t.candidate)).digits;
}

double Nearness(const TensorVerdict& v) {
  double most = 0;
  for (const RuleResult& r : v.rules) most = std::max(most, r.share);
  return most;
}

int Badness(const TensorVerdict& v) {
  if (v.verdict == Verdict::kPass) return v.judged() ? 0 : 1;
  return 1 + static_cast<int>(v.verdict);
}

// Rows of indices of an ordering.
class OrderCheck {
 public:
  explicit OrderCheck(const OrderedIndices& order) : o_(order) {
    last_ = o_.indices.dims.empty() ? 1 : std::max<int64_t>(o_.indices.dims.back(), 1);
    input_last_ = o_.input.has_value() && !o_.input->dims.empty() ? o_.input->dims.back() : 0;
    range_ = o_.range > 0 ? o_.range : input_last_;
  }

  std::string Run() {
    const int64_t count = o_.indices.size(), rows = count / last_;
    const bool fits = (!o_.input.has_value() || o_.input->size() == rows * input_last_) &&
                      (!o_.values.has_value() || o_.values->size() == count) &&
                      (!o_.reference.has_value() || o_.reference->size() == count);
    if (!fits) return "indices, values, reference and input do not have the same rows";
    for (int64_t row = 0; row < rows; ++row) {
      if (std::string problem = Row(row); !problem.empty()) return problem;
    }
    return "";
  }

 private:
  int64_t Index(const ConstTensorRef& t, int64_t i) const { return static_cast<int64_t>(ValueAt(t, i)); }
  static bool SameBits(double a, double b) {
    return (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b));
  }

  std::string Row(int64_t row) {
    std::set<int64_t> seen;
    for (int64_t i = row * last_; i < (row + 1) * last_; ++i) {
      const int64_t index = Index(o_.indices, i);
      if (range_ > 0 && (index < 0 || index >= range_)) {
        return StrCat("element ", i, " is ", index, "; an index in [0, ", range_, ") is expected");
      }
      if (!seen.insert(index).second)
        return StrCat("element ", i, ": index ", index, " stands twice in row ", row);
      if (!o_.input.has_value() || !o_.values.has_value()) continue;
      const double x = ValueAt(*o_.input, row * input_last_ + index), y = ValueAt(*o_.values, i);
      if (!SameBits(x, y)) {
        return StrCat("element ", i, ": index ", index, " leads to ", ShortNumber(x), " instead of ",
                      ShortNumber(y));
      }
    }
    return o_.input.has_value() && o_.values.has_value() ? "" : Ties(row);
  }

  // Without the input: the same indices as the reference inside each run of equal values. Without values
  // every run has one element.
  std::string Ties(int64_t row) {
    if (!o_.reference.has_value()) return "";
    const int64_t end = (row + 1) * last_;
    for (int64_t begin = row * last_; begin < end;) {
      int64_t stop = begin + 1;
      while (o_.values.has_value() && stop < end &&
             SameBits(ValueAt(*o_.values, begin), ValueAt(*o_.values, stop))) {
        ++stop;
      }
      std::multiset<int64_t> ours, theirs;
      for (int64_t i = begin; i < stop; ++i) {
        ours.insert(Index(o_.indices, i));
        theirs.insert(Index(*o_.reference, i));
      }
      if (ours != theirs) {
        return StrCat("element ", begin, " is ", Index(o_.indices, begin), " instead of ",
                      Index(*o_.reference, begin),
                      stop - begin > 1 ? StrCat(", and not one of its ", stop - begin, " equals") : "");
      }
      begin = stop;
    }
    return "";
  }

  const OrderedIndices& o_;
  int64_t last_ = 1, input_last_ = 0, range_ = 0;
};

}  // namespace

StatusOr<JudgedTensor> JudgeTensors(const RuleSet& rules, const TensorsToJudge& t) {
  TensorEvidence e{.op = t.op,
                   .class_name = t.class_name,
                   .structure = "",
                   .structure_kind = "",
                   .band = t.band,
                   .independent = t.independent};
  Comparisons c;
  if (!t.candidate.has_value()) {
    e.structure = "missing in the candidate";
    e.structure_kind = "missing";
  } else {
    const std::string_view dtype = t.arithmetic.empty() ? InfoOf(ElementOf(*t.candidate)).name : t.arithmetic;
    e.type = NumberTypeOf(dtype);
    if (!e.type.has_value()) {
      return absl::InvalidArgumentError(
          StrCat("arithmetic ", t.arithmetic, ": f64, f32, tf32, f16 or bf16 is expected"));
    }
    const RuleClass* rule_class = t.class_name.empty() ? &rules.ClassOf(t.op) : rules.Find(t.class_name);
    if (rule_class != nullptr) PLINTH_RETURN_IF_ERROR(CompareAll(rules, *rule_class, t, *e.type, &c));
    e.structure = t.structure.empty() ? c.structure : t.structure;
    e.structure_kind = t.structure.empty() ? c.structure_kind : t.structure_kind;
  }
  if (c.judged.truth.has_value()) {
    e.truth = &*c.judged.truth;
    e.truth_decides = Wider(t);
  }
  if (c.judged.incumbent.has_value()) e.incumbent = &*c.judged.incumbent;
  if (c.judged.incumbent_truth.has_value()) e.incumbent_truth = &*c.judged.incumbent_truth;
  if (c.cap.has_value()) e.cap = &*c.cap;
  PLINTH_ASSIGN_OR_RETURN(c.judged.verdict, Judge(rules, e));
  return std::move(c.judged);
}

TensorVerdict Worst(std::span<const TensorVerdict> verdicts, std::span<const std::string> labels) {
  TensorVerdict worst;
  worst.reason = "nothing was compared";
  for (int number = 1; number <= 4; ++number) worst.rules[static_cast<size_t>(number - 1)].number = number;
  if (verdicts.empty()) return worst;
  size_t at = 0;
  for (size_t i = 1; i < verdicts.size(); ++i) {
    const TensorVerdict &a = verdicts[i], &b = verdicts[at];
    if (Badness(a) > Badness(b) || (Badness(a) == Badness(b) && Nearness(a) > Nearness(b))) at = i;
  }
  worst = verdicts[at];
  if (at < labels.size()) worst.from = labels[at];
  for (const TensorVerdict& v : verdicts) {
    for (size_t rule = 0; rule < 4; ++rule) {
      if (v.rules[rule].state == RuleState::kUnproven && worst.rules[rule].state != RuleState::kBroken) {
        worst.rules[rule] = v.rules[rule];
      }
    }
  }
  if (worst.verdict == Verdict::kPass) {
    const std::vector<int> unproven = worst.Unproven();
    worst.reason = unproven.empty() ? "" : StrCat("unproven: ", Join(unproven, ", "));
  }
  return worst;
}

std::string RankDifference(std::span<const ConstTensorRef> ranks) {
  for (size_t rank = 1; rank < ranks.size(); ++rank) {
    const ConstTensorRef &a = ranks[0], &b = ranks[rank];
    if (TypeAndShape(a) != TypeAndShape(b)) {
      return StrCat("rank ", rank, " holds ", TypeAndShape(b), ", rank 0 ", TypeAndShape(a));
    }
    if (a.bytes == 0 || std::memcmp(a.data, b.data, static_cast<size_t>(a.bytes)) == 0) continue;
    const auto [x, y] = std::mismatch(a.data, a.data + a.bytes, b.data);
    const int64_t index = (x - a.data) / SizeOf(a.dtype);
    return StrCat("rank ", rank, " holds ", ShortNumber(ValueAt(b, index)), " at element ", index,
                  ", rank 0 ", ShortNumber(ValueAt(a, index)), "; the same bits on all ranks are expected");
  }
  return "";
}

std::string OrderProblem(const OrderedIndices& order) { return OrderCheck(order).Run(); }

}  // namespace plinth::verify
