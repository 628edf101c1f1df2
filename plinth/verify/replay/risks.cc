#include "plinth/verify/replay/risks.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "plinth/formats/json_writer.h"
#include "plinth/verify/replay/judgement.h"
#include "plinth/verify/replay/own_reference.h"
#include "plinth/verify/replay/row_reference.h"
#include "plinth/verify/replay/uses.h"

namespace plinth::verify::replay {
namespace {

std::string Short(double x) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.3g", x);
  return text;
}

template <size_t n>
bool OneOf(std::string_view op, const std::string_view (&names)[n]) {
  return std::find(std::begin(names), std::end(names), op) != std::end(names);
}

// Sums shorter than this lose less than the rounding of their result.
constexpr int64_t kLong = 64;

std::optional<RiskKind> KindOf(const OpUse& use, bool own) {
  static constexpr std::string_view kNorms[] = {"layer_norm", "rms_norm", "batch_norm"};
  static constexpr std::string_view kExponentials[] = {"softmax", "log_softmax", "attention", "exp"};
  static constexpr std::string_view kSums[] = {"linear", "matmul", "conv1d", "conv2d",
                                               "sum",    "mean",   "cumsum", "reduce"};
  static constexpr std::string_view kOrders[] = {"sort", "argsort", "top_k", "topk", "argmax", "sampling"};
  static constexpr std::string_view kQuantised[] = {"quantize", "fake_quantize"};
  if (OneOf(use.op, kNorms)) return RiskKind::kNormalisation;
  if (OneOf(use.op, kExponentials)) return RiskKind::kExponential;
  if (OneOf(use.op, kSums)) return RiskKind::kLongReduction;
  if (OneOf(use.op, kOrders)) return RiskKind::kOrder;
  if (OneOf(use.op, kQuantised)) return RiskKind::kQuantised;
  const bool module = use.op == "module" || use.op == "multihead_attention";
  if (!module && !HasReference(use.op) && !(own && IsOwnOperator(use.op))) return RiskKind::kCustom;
  return std::nullopt;
}

// Gathers how large results and the errors of right arithmetic are.
class Sizes final : public TruthSink {
 public:
  void Put(int64_t, long double truth, double slack, double spread) override {
    const auto r = static_cast<double>(truth);
    if (!std::isfinite(r) || !std::isfinite(slack) || !std::isfinite(spread)) return;
    ++count, truth2 += r * r, slack2 += slack * slack, spread2 += spread * spread;
  }
  void Verdict(int64_t, std::string) override {}
  double count = 0, truth2 = 0, slack2 = 0, spread2 = 0;
};

struct Rows {
  const Values* x;
  RowLayout layout;
  int64_t step;  // every so many-th row

  Rows(const Values& values, size_t axis, double elements)
      : x(&values),
        layout(RowLayout::Along(values.dims(), axis)),
        step(std::max<int64_t>(1, static_cast<int64_t>(static_cast<double>(values.size()) / elements))) {}
  template <typename Visit>
  void Each(Visit visit) const {
    std::vector<double> row(static_cast<size_t>(layout.length));
    for (int64_t r = 0; r < layout.rows(); r += step) {
      x->Load(layout.Begin(r), layout.length, layout.stride, row.data());
      if (!row.empty()) visit(row);
    }
  }
};

class Measuring {
 public:
  Measuring(const formats::Capture& capture, double flops, bool own)
      : capture_(capture), flops_(flops), own_(own) {}

  Risk Measure(const OpUse& use, RiskKind kind) {
    Risk risk{.name = use.name, .op = use.op, .step = use.step, .kind = kind};
    if (!use.outputs.empty() && use.outputs[0].values.has_value()) risk.dtype = use.out(0).format().name;
    if (kind == RiskKind::kCustom) {
      risk.sentence =
          "no reference knows this operator: give one in float64 (--truth), or compare with an incumbent";
      return risk;
    }
    if (!use.has(0) || !use.inputs[0].values.has_value()) {
      FromStatistics(use, risk);
      return risk;
    }
    switch (kind) {
      case RiskKind::kNormalisation:
        Normalisation(use, risk);
        break;
      case RiskKind::kExponential:
        Exponential(use, risk);
        break;
      case RiskKind::kOrder:
        Order(use, risk);
        break;
      case RiskKind::kQuantised:
        Quantised(use, risk);
        break;
      default:
        Estimate(use, risk);
        risk.condition_name = "sum of sizes / result";
        risk.sentence = StrCat("sums of ", risk.depth, " terms whose sizes add up to ", Short(risk.condition),
                               " times the result: what cancels is lost");
    }
    return risk;
  }

 private:
  // Expected error from the reference's own spread; condition and depth of sums.
  void Estimate(const OpUse& use, Risk& risk) {
    for (size_t port = 0; port < use.outputs.size(); ++port) {
      if (!use.outputs[port].values.has_value() || !use.out(port).format().floating) continue;
      const Arithmetic arithmetic = ArithmeticOf(capture_.info().precision, use, port);
      const bool own = own_ && IsOwnOperator(use.op);
      const auto reference =
          own ? MakeOwnReference(use, port, arithmetic) : MakeReference(use, port, arithmetic);
      if (!reference.ok()) continue;
      Sizes sizes;
      const int64_t pieces = (*reference)->pieces();
      const auto step = static_cast<int64_t>(
          std::max(1.0, static_cast<double>(pieces) * (*reference)->piece_flops() / flops_));
      for (int64_t p = 0; p < pieces; p += step) (*reference)->Compute(p, sizes);
      if (!(sizes.truth2 > 0)) return;
      const double roundoff = use.out(port).format().roundoff();
      risk.depth = (*reference)->line.depth;
      risk.estimate = 1 + arithmetic.accumulate * std::sqrt(sizes.spread2 / sizes.truth2) / roundoff;
      risk.condition = std::sqrt(sizes.slack2 / sizes.truth2) / std::max(1.0, SumGrowth(risk.depth));
      return;
    }
  }

  void Normalisation(const OpUse& use, Risk& risk) {
    Estimate(use, risk);
    double offset = 0, smallest = INFINITY;
    const Values& x = use.in(0);
    Rows(x, x.rank() == 0 ? 0 : x.rank() - 1, flops_ / 4).Each([&](const std::vector<double>& row) {
      double mean = 0, square = 0;
      for (const double v : row) mean += v;
      mean /= static_cast<double>(row.size());
      for (const double v : row) square += (v - mean) * (v - mean);
      const double variance = square / static_cast<double>(row.size());
      if (!std::isfinite(variance)) return;
      smallest = std::min(smallest, variance);
      if (variance > 0) offset = std::max(offset, std::abs(mean) / std::sqrt(variance));
    });
    const StatusOr<double> eps = use.Real("eps", use.op == "rms_norm" ? 1e-6 : 1e-5);
    const double added = eps.ok() ? *eps : 0;
    const std::string beside = StrCat(Short(smallest), " beside eps ", Short(added),
                                      smallest < 100 * added ? ": eps decides such rows" : "");
    risk.condition = offset;
    risk.condition_name = "|mean|/std";
    risk.sentence = use.op == "rms_norm"
                        ? StrCat("smallest variance ", beside, "; every element shares its row's error")
                        : StrCat("|mean|/std up to ", Short(offset), offset > 1 ? ", the mean cancels" : "",
                                 "; smallest variance ", beside);
  }

  void Exponential(const OpUse& use, Risk& risk) {
    Estimate(use, risk);
    if (use.op == "attention") {
      risk.condition_name = "sum of sizes / result";
      risk.sentence =
          StrCat("softmax over scores, then sums of values: error grows with the scores' size and with ",
                 risk.depth, " terms; masks and scale decide its meaning");
      return;
    }
    const Values& x = use.in(0);
    const StatusOr<int64_t> dim = use.Int("dim", -1);
    const StatusOr<int64_t> axis = AxisOf(dim.ok() ? *dim : -1, x.rank());
    double spread = 0;
    Rows(x, axis.ok() ? static_cast<size_t>(*axis) : 0, flops_ / 2).Each([&](const std::vector<double>& row) {
      double low = INFINITY, high = -INFINITY;
      for (const double v : row) {
        if (std::isfinite(v)) low = std::min(low, v), high = std::max(high, v);
      }
      if (use.op == "exp") low = std::min(low, 0.0), high = std::max(high, 0.0);
      if (high >= low) spread = std::max(spread, high - low);
    });
    risk.condition = spread;
    risk.condition_name = "spread";
    risk.sentence =
        StrCat("exponents spread over up to ", Short(spread),
               ": a rounded difference becomes a relative error of up to ", Short(spread), " roundoffs");
  }

  // The smallest gap between neighbours that are not equal, in units in the last place of the larger one.
  void Order(const OpUse& use, Risk& risk) {
    const Values& x = use.in(0);
    const StatusOr<int64_t> dim = use.Int("dim", -1), k = use.Int("k", 0);
    const StatusOr<int64_t> axis = AxisOf(dim.ok() ? *dim : -1, x.rank());
    const StatusOr<bool> ascending = use.Flag("largest", true);
    double gap = INFINITY;
    Rows(x, axis.ok() ? static_cast<size_t>(*axis) : 0, flops_ / 40).Each([&](std::vector<double> row) {
      std::sort(row.begin(), row.end(), [](double a, double b) { return a > b; });
      if (ascending.ok() && !*ascending) std::reverse(row.begin(), row.end());
      // Of top_k the cut and the order before it matter, of argmax the first two.
      size_t last = row.size();
      if (k.ok() && *k > 0) last = std::min(last, static_cast<size_t>(*k) + 1);
      if (use.op == "argmax" || use.op == "sampling") last = std::min<size_t>(last, 2);
      for (size_t i = 1; i < last; ++i) {
        const double apart = std::abs(row[i - 1] - row[i]);
        if (!(apart > 0) || !std::isfinite(apart)) continue;
        gap = std::min(gap, apart / UlpOf(x.format(), std::max(std::abs(row[i - 1]), std::abs(row[i]))));
      }
    });
    risk.condition = std::isfinite(gap) ? gap : 0;
    risk.condition_name = "gap in units in the last place";
    risk.depth = axis.ok() && x.rank() > 0 ? x.dims()[static_cast<size_t>(*axis)] : 1;
    risk.estimate = std::isfinite(gap) ? 1 / gap : 0;
    risk.sentence = std::isfinite(gap)
                        ? StrCat("neighbours differ by as little as ", Short(gap),
                                 " units in the last place: "
                                 "an error of half that changes the order")
                        : std::string("no two neighbours differ by a finite amount: ties alone decide");
  }

  void Quantised(const OpUse& use, Risk& risk) {
    risk.condition_name = "share at the ends";
    if (use.outputs.empty() || !use.outputs[0].values.has_value() || use.out(0).size() == 0) return;
    const Values& q = use.out(0);
    double low = INFINITY, high = -INFINITY;
    for (int64_t i = 0; i < q.size(); ++i) low = std::min(low, q[i]), high = std::max(high, q[i]);
    int64_t ends = 0;
    for (int64_t i = 0; i < q.size(); ++i) ends += q[i] == low || q[i] == high ? 1 : 0;
    risk.condition = static_cast<double>(ends) / static_cast<double>(q.size());
    risk.estimate = 1;
    risk.sentence =
        StrCat(Short(100 * risk.condition), " % of the elements stand at the smallest or largest step (",
               Short(low), ", ", Short(high), "): one step is the least error, saturation the largest");
  }

  void FromStatistics(const OpUse& use, Risk& risk) const {
    risk.sentence = "its inputs were not recorded in full: nothing was measured";
    const formats::CaptureEntry* entry = use.has(0) ? capture_.Find(use.inputs[0].key) : nullptr;
    if (entry == nullptr || !entry->stats.has_value() || risk.kind == RiskKind::kCustom) return;
    const formats::TensorStats& s = *entry->stats;
    if (risk.kind == RiskKind::kNormalisation && s.std > 0) {
      risk.condition = std::abs(s.mean) / s.std, risk.condition_name = "|mean|/std";
      risk.sentence =
          StrCat("|mean|/std of the whole input is ", Short(risk.condition), "; rows were not recorded");
    } else if (risk.kind == RiskKind::kExponential && use.op != "attention") {
      risk.condition = s.max - s.min, risk.condition_name = "spread";
      risk.sentence =
          StrCat("the whole input spreads over ", Short(risk.condition), "; rows were not recorded");
    }
  }

  const formats::Capture& capture_;
  const double flops_;
  const bool own_;
};

// What no reference knows first, what was not measured last.
double Rank(const Risk& risk) {
  if (risk.estimate.has_value()) return *risk.estimate;
  return risk.kind == RiskKind::kCustom ? INFINITY : -1;
}

}  // namespace

std::string_view RiskKindName(RiskKind kind) {
  static constexpr std::string_view kNames[] = {"normalisation",   "exponential", "long reduction",
                                                "order-dependent", "quantised",   "custom"};
  return kNames[static_cast<int>(kind)];
}

StatusOr<std::vector<Risk>> RisksOf(const Context& context, const formats::Capture& capture, double flops) {
  PLINTH_ASSIGN_OR_RETURN(const std::vector<OpUse> uses, UsesOf(capture));
  const bool own = ProducerOf(capture) == "plinth";
  std::vector<std::optional<Risk>> found(uses.size());
  context.threads->For(static_cast<int64_t>(uses.size()), [&](int64_t i, int) {
    const auto at = static_cast<size_t>(i);
    const std::optional<RiskKind> kind = KindOf(uses[at], own);
    if (kind.has_value()) found[at] = Measuring(capture, flops, own).Measure(uses[at], *kind);
  });
  std::vector<Risk> risks;
  for (std::optional<Risk>& risk : found) {
    if (!risk.has_value()) continue;
    const bool brief =
        risk->kind == RiskKind::kLongReduction && risk->estimate.has_value() && risk->depth < kLong;
    if (!brief) risks.push_back(*std::move(risk));
  }
  std::stable_sort(risks.begin(), risks.end(),
                   [](const Risk& a, const Risk& b) { return Rank(a) > Rank(b); });
  return risks;
}

std::string ToJson(const Risk& risk) {
  std::string out;
  formats::JsonWriter w(&out);
  w.BeginObject();
  w.Key("name"), w.String(risk.name);
  w.Key("op"), w.String(risk.op);
  w.Key("step"), w.Int(risk.step);
  w.Key("kind"), w.String(RiskKindName(risk.kind));
  w.Key("dtype"), w.String(risk.dtype);
  w.Key("estimate");
  if (risk.estimate.has_value()) w.Number(*risk.estimate);
  if (!risk.estimate.has_value()) w.Null();
  w.Key("condition"), w.Number(risk.condition);
  w.Key("condition_name"), w.String(risk.condition_name);
  w.Key("depth"), w.Int(risk.depth);
  w.Key("sentence"), w.String(risk.sentence);
  w.EndObject();
  return out;
}

std::string ToText(const Risk& risk) {
  char estimate[32];
  std::snprintf(estimate, sizeof(estimate), "%8.3g", risk.estimate.value_or(0));
  return StrCat(risk.estimate.has_value() ? estimate : "       ?", "  ", RiskKindName(risk.kind), "  ",
                risk.op, " ", risk.name, risk.step == 0 ? "" : StrCat("@", risk.step), " ", risk.dtype, ": ",
                risk.sentence);
}

}  // namespace plinth::verify::replay
