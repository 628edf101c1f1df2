#include "plinth/verify/comparison_line.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace plinth::verify {
namespace {

constexpr double kUnit32 = 0x1p-24;

std::string Short(double x) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.3g", x);
  return text;
}

ComparisonLine RelL2(double limit) {
  ComparisonLine line;
  line.rel_l2 = limit;
  return line;
}
ComparisonLine Ulp(double steps) {
  ComparisonLine line;
  line.max_ulp = steps;
  return line;
}

// G: the inputs' rounding is common to both sides; the outputs' rounding and the sum's remain.
double ProductLimit(const ElementInfo& info, double root_k) {
  if (info.digits >= 24) return info.unit * root_k;
  return info.unit + kUnit32 * root_k;
}

}  // namespace

double DefaultLimit(Element element) {
  const ElementInfo& info = InfoOf(element);
  if (!info.floating) return 0;
  switch (info.digits) {
    case 53:
      return 1e-13;
    case 24:
      return 1e-5;
    case 11:
      return 2e-3;
    case 8:
      return 1e-2;
    case 4:
      return 8e-2;
    default:
      return 1.6e-1;
  }
}

StatusOr<ComparisonLine> LineFor(std::string_view name, Element element, int64_t k) {
  const ElementInfo& info = InfoOf(element);
  const double root_k = std::sqrt(static_cast<double>(std::max<int64_t>(k, 1)));
  const bool wide = info.digits >= 24;
  ComparisonLine line;
  if (name.empty()) {
    line = RelL2(DefaultLimit(element));
  } else if (name == "A" || name == "A'" || (!info.floating && name != "I" && name != "K" && name != "H")) {
    line.unequal = 0;
  } else if (name == "B") {
    line = Ulp(wide ? 2 : 1);  // one step, two where only one side contracts to a fused multiply-add
  } else if (name == "C") {
    line = Ulp(wide ? 4 : 1);
  } else if (name == "D" || name == "J") {
    // In sixteen bits the sum is taken in f32 and rounded once on either side.
    line = RelL2(wide ? info.unit * root_k : info.unit + kUnit32 * root_k);
  } else if (name == "E") {
    line = RelL2(DefaultLimit(element));
  } else if (name == "F") {
    line = wide ? RelL2(DefaultLimit(element)) : Ulp(2);
  } else if (name == "G") {
    line = RelL2(ProductLimit(info, root_k));
  } else if (name == "G'") {
    line = RelL2(ProductLimit(info, root_k) * (wide ? 8 : 4));
  } else if (name == "H") {
    line = info.floating ? RelL2(wide ? info.unit * root_k : info.unit + kUnit32 * root_k) : ComparisonLine{};
    if (!info.floating)
      line.unequal = 0;
    else
      line.unproven = "class H (atomics) needs the noise band of repeated runs";
  } else if (name == "I" || name == "I'") {
    line = Ulp(1);
    line.unequal = 0.01;
  } else if (name == "K") {
    line.unproven = "class K (random numbers) is compared by distribution, not by element";
  } else {
    return absl::InvalidArgumentError(
        StrCat("class \"", name, "\" is unknown; there are A, A', B, C, D, E, F, G, G', H, I, I', J and K"));
  }
  line.class_name = name;
  return line;
}

namespace {

void JudgeStructure(const Difference& d, LineVerdict* v) {
  if (d.nan_mismatch > 0) {
    v->broken.push_back(StrCat(d.nan_mismatch, d.nan_mismatch == 1 ? " element is" : " elements are",
                               " NaN on one side only, the first at ", d.first_mismatch));
  }
  if (d.inf_mismatch > 0) {
    v->broken.push_back(StrCat(d.inf_mismatch,
                               d.inf_mismatch == 1 ? " infinity differs" : " infinities differ",
                               ", the first mismatch at ", d.first_mismatch));
  }
  if (d.b.canary > 0) {
    v->broken.push_back(StrCat(d.b.canary, " elements still hold the fill pattern: nothing wrote them"));
  }
  // A few subnormals come and go with rounding; a tenth of their number does not.
  if (d.a.subnormal >= 16 && d.subnormals_kept() * 10 < d.a.subnormal) {
    v->broken.push_back(StrCat("subnormals dropped from ", d.a.subnormal, " to ", d.subnormals_kept()));
  }
}

// NaN beside NaN is the same structure; where nothing else is left, it shows nothing.
void JudgeFinite(const Difference& d, LineVerdict* v) {
  if (d.finite_both > 0 || d.count == 0) return;
  if (d.nan_both() > 0) {
    v->broken.push_back(StrCat("no element is finite on both sides (", d.nan_both(), " of ", d.count,
                               " are NaN on both): nothing was compared"));
  } else if (v->broken.empty()) {
    v->unproven = "only infinities, the same on both sides: no number was compared";
  }
}

void JudgePlaces(const Difference& d, const ErrorPlaces& p, LineVerdict* v) {
  if (!p.bad_lanes.empty()) {
    std::vector<int64_t> lanes(p.bad_lanes.begin(), p.bad_lanes.end());
    v->broken.push_back(StrCat("the error sits in lanes ", RangesText(lanes), " modulo 64"));
  } else if (!p.bad_rows.empty() && static_cast<int64_t>(p.bad_rows.size()) < p.rows) {
    v->broken.push_back(
        StrCat("the error sits in ", p.bad_rows.size(), " of ", p.rows, " rows: ", RangesText(p.bad_rows)));
  } else if (!p.bad_columns.empty() && static_cast<int64_t>(p.bad_columns.size()) < p.columns) {
    v->broken.push_back(StrCat("the error sits in ", p.bad_columns.size(), " of ", p.columns,
                               " columns: ", RangesText(p.bad_columns)));
  } else if (p.spikes > 0) {
    v->broken.push_back(StrCat(p.spikes, p.spikes == 1 ? " element stands" : " elements stand",
                               " out by more than ", kStandsOut, " times the limit, the first at ",
                               p.first_spike));
  }
  static_cast<void>(d);
}

}  // namespace

LineVerdict JudgeByLine(const Difference& d, const ErrorPlaces* places, const ComparisonLine& line) {
  LineVerdict v;
  JudgeStructure(d, &v);
  v.unproven = line.unproven;
  JudgeFinite(d, &v);
  if (line.rel_l2.has_value() && !(d.rel_l2 <= *line.rel_l2)) {
    v.broken.push_back(StrCat("relative L2 error ", Short(d.rel_l2), ", limit ", Short(*line.rel_l2)));
  }
  if (line.max_ulp.has_value() && d.max_ulp > *line.max_ulp) {
    v.broken.push_back(StrCat("largest error ", Short(d.max_ulp), " ULP, limit ", Short(*line.max_ulp)));
  }
  if (line.unequal.has_value() && d.count > 0) {
    const double share = static_cast<double>(d.unequal) / static_cast<double>(d.count);
    if (share > *line.unequal) {
      v.broken.push_back(*line.unequal == 0
                             ? StrCat(d.unequal, " of ", d.count, " elements differ; none may")
                             : StrCat("a share of ", Short(share), " of the elements differs, limit ",
                                      Short(*line.unequal)));
    }
  }
  if (places != nullptr) JudgePlaces(d, *places, &v);
  if (line.rel_l2.has_value() && d.finite_both > 0) {
    const double n = static_cast<double>(d.finite_both), bias = std::abs(d.mean_error);
    // Significant, and a good part of what the limit allows: rounding alone leaves neither.
    if (bias > 4 * d.rmse / std::sqrt(n) && bias > *line.rel_l2 * d.a.rms / 4) {
      v.broken.push_back(StrCat("bias ", Short(d.mean_error), ", limit ", Short(*line.rel_l2 * d.a.rms / 4)));
    } else if (d.unequal >= 1000 && std::abs(d.balance) > 0.5 && d.rel_l2 > *line.rel_l2 / 4) {
      v.warned.push_back(StrCat("errors lean to one side (balance ", Short(d.balance), ")"));
    }
  }
  return v;
}

}  // namespace plinth::verify
