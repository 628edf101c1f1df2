#include "plinth/verify/capture_pairs.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "plinth/verify/difference.h"

namespace plinth::verify {
namespace {

using formats::Capture;
using formats::CaptureEntry;
using formats::TensorStats;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Repeats of one machine do not tell what another order of summation does: sqrt(K) units for a product over K
// terms, K = 4096 where nobody says (class G of the rule set). A band below that is not taken at its word.
constexpr double kLeastUnits = 64;

std::string Framework(const Capture& capture) {
  const formats::JsonValue* name = capture.info().producer.Find("framework");
  return name != nullptr && name->text() != nullptr ? *name->text() : "";
}

Drift Broken(Drift::By by, std::string note) {
  return {.by = by, .rel_l2 = kInfinity, .limit = 0, .note = std::move(note)};
}

std::string ShapeText(const CaptureEntry& entry) {
  return StrCat(entry.dtype, "[", Join(entry.dims, ", "), "]");
}

Drift Compared(const formats::ConstTensorRef& a, const formats::ConstTensorRef& b) {
  const auto difference = Differ(a, b);
  if (!difference.ok()) return Broken(Drift::By::kTensors, std::string(difference.status().message()));
  if (difference->nan_mismatch > 0) {
    return Broken(Drift::By::kTensors, StrCat(difference->nan_mismatch,
                                              " elements are NaN on one side only, the "
                                              "first at ",
                                              difference->first_mismatch));
  }
  if (difference->inf_mismatch > 0) {
    return Broken(Drift::By::kTensors, StrCat("infinities differ at ", difference->inf_mismatch,
                                              " elements, the first at ", difference->first_mismatch));
  }
  return {.by = Drift::By::kTensors, .rel_l2 = difference->rel_l2};
}

Drift Estimated(const TensorStats& a, const TensorStats& b) {
  Drift drift{.by = Drift::By::kStatistics, .rel_l2 = DriftBound(a, b)};
  if (!std::isinf(drift.rel_l2) || a.l2 == 0) return drift;
  drift.note = StrCat("NaN ", a.nan, " and ", b.nan, ", +inf ", a.pos_inf, " and ", b.pos_inf, ", -inf ",
                      a.neg_inf, " and ", b.neg_inf, ": the counts differ");
  return drift;
}

}  // namespace

std::string_view ByName(Drift::By by) {
  return by == Drift::By::kDigest ? "digest" : by == Drift::By::kTensors ? "tensors" : "statistics";
}

double DriftBound(const TensorStats& a, const TensorStats& b) {
  if (a.nan != b.nan || a.pos_inf != b.pos_inf || a.neg_inf != b.neg_inf) return kInfinity;
  const double root = std::sqrt(static_cast<double>(std::max<int64_t>(a.finite, 1)));
  double most = std::fabs(b.l2 - a.l2);
  most = std::max(most, root * std::fabs(b.mean - a.mean));
  most = std::max(most, root * std::fabs(b.std - a.std));
  most = std::max({most, std::fabs(b.max - a.max), std::fabs(b.min - a.min)});
  if (most == 0) return 0;
  return a.l2 == 0 ? kInfinity : most / a.l2;
}

int64_t IndependentErrors(const std::vector<int64_t>& dims) {
  int64_t columns = 1, size = 1;
  for (const int64_t d : dims) {
    size *= d;
    if (d > 1) columns = d;  // the last one that is no 1
  }
  return std::max<int64_t>(1, std::min(columns, size / columns));
}

double StatisticsShare(const std::vector<int64_t>& dims) {
  constexpr double kDeviations = 6;
  return std::min(1.0, kDeviations / std::sqrt(static_cast<double>(IndependentErrors(dims))));
}

double DriftLines::LineOf(std::string_view dtype) const {
  if (dtype == "f64" || dtype == "c128") return f64;
  if (dtype == "f32" || dtype == "c64") return f32;
  if (dtype == "f16") return f16;
  if (dtype == "bf16") return bf16;
  if (dtype.starts_with("f8_e4m3")) return f8_e4m3;
  if (dtype.starts_with("f8_e5m2")) return f8_e5m2;
  return 0;
}

PairedRuns::PairedRuns(const RunCaptures& reference, const RunCaptures& output, const DriftLines& lines)
    : reference_(reference), output_(output), lines_(lines) {
  const Capture& first = *reference.free[0];
  const Capture& other = output.free.empty() ? *output.forced[0] : *output.free[0];
  // The coarsest line up to each index of the other side.
  std::map<int64_t, double> coarsest;
  double line = 0;
  for (const CaptureEntry& entry : other.entries()) {
    line = std::max(line, lines.LineOf(entry.dtype));
    coarsest[entry.index] = line;
  }
  line = 0;
  for (const CaptureEntry& entry : first.entries()) {
    line = std::max(line, lines.LineOf(entry.dtype));
    const std::string key = entry.Key();
    const CaptureEntry* twin = other.Find(key);
    if (twin == nullptr) continue;
    const bool whole_numbers = lines.LineOf(entry.dtype) == 0 && lines.LineOf(twin->dtype) == 0;
    pairs_.push_back({key, entry.name, entry.op, entry.step, entry.port, entry.direction,
                      whole_numbers ? 0 : std::max(line, coarsest[twin->index])});
  }
  for (auto& by_mode : known_) {
    for (auto& list : by_mode) list.resize(pairs_.size());
  }
}

std::optional<Drift> PairedRuns::Distance(const Capture& a, const Capture& b, const std::string& key,
                                          bool tensors) const {
  const CaptureEntry *x = a.Find(key), *y = b.Find(key);
  if (x == nullptr || y == nullptr) return std::nullopt;
  if (!x->digest.empty() && x->digest == y->digest && x->dtype == y->dtype) return Drift{};
  const formats::ConstTensorRef *u = a.Tensor(*x), *v = b.Tensor(*y);
  const bool full = u != nullptr && v != nullptr;
  const bool estimate = x->stats.has_value() && y->stats.has_value();
  if (!formats::SameOrder(x->dims, y->dims)) {
    // Two programs may lay a batch out in two ways (packed rows, padded rows); one program does not.
    if (x->layout != y->layout || Framework(a) != Framework(b)) return std::nullopt;
    return Broken(full ? Drift::By::kTensors : Drift::By::kStatistics,
                  StrCat("the shape is ", ShapeText(*y), " and not ", ShapeText(*x)));
  }
  if (full && tensors) {
    Drift drift = Compared(*u, *v);
    a.ReleasePages(*x);
    b.ReleasePages(*y);
    return drift;
  }
  if (!estimate) return std::nullopt;
  return Estimated(*x->stats, *y->stats);
}

double PairedRuns::Band(const std::string& key, bool tensors) const {
  double band = 0;
  for (const auto* side : {&reference_.free, &output_.free}) {
    for (size_t i = 1; i < side->size(); ++i) {
      const auto drift = Distance(*(*side)[0], *(*side)[i], key, tensors);
      if (drift.has_value() && std::isfinite(drift->rel_l2)) band = std::max(band, drift->rel_l2);
    }
  }
  return band;
}

std::optional<Drift> PairedRuns::Measure(size_t pair, bool forced, bool tensors) {
  const Pair& p = pairs_[pair];
  std::optional<Drift> worst;
  for (const Capture* output : forced ? output_.forced : output_.free) {
    auto drift = Distance(*reference_.free[0], *output, p.key, tensors);
    if (drift.has_value() && (!worst.has_value() || drift->rel_l2 > worst->rel_l2)) worst = std::move(drift);
  }
  if (!worst.has_value()) return worst;
  worst->limit = p.line;
  if (worst->rel_l2 == 0 || !worst->note.empty()) return worst;
  if (const double band = Band(p.key, tensors); band > 0) {
    const CaptureEntry* entry = reference_.free[0]->Find(p.key);
    const auto element = ElementFromName(entry->dtype);
    const double unit = element.has_value() ? InfoOf(*element).unit : 0;
    worst->limit = std::max(1.5 * band, std::min(p.line, kLeastUnits * unit));
  } else if (worst->by == Drift::By::kStatistics) {
    worst->limit = p.line * StatisticsShare(reference_.free[0]->Find(p.key)->dims);
  }
  return worst;
}

int64_t PairedRuns::Elements(size_t pair) const {
  int64_t count = 1;
  for (const int64_t d : reference_.free[0]->Find(pairs_[pair].key)->dims) count *= d;
  return count;
}

bool PairedRuns::Comparable(size_t pair, bool forced) const {
  const std::vector<const Capture*>& outputs = forced ? output_.forced : output_.free;
  if (outputs.empty()) return false;
  const Capture &a = *reference_.free[0], &b = *outputs[0];
  const CaptureEntry *x = a.Find(pairs_[pair].key), *y = b.Find(pairs_[pair].key);
  if (x == nullptr || y == nullptr) return false;
  const bool same_way = x->layout == y->layout && Framework(a) == Framework(b);
  if (!same_way && !formats::SameOrder(x->dims, y->dims)) return false;
  return (!x->digest.empty() && x->digest == y->digest) || (x->stats.has_value() && y->stats.has_value()) ||
         (a.Tensor(*x) != nullptr && b.Tensor(*y) != nullptr);
}

std::optional<Drift> PairedRuns::Look(size_t pair, bool forced) {
  auto& known = known_[forced ? 1 : 0][1][pair];
  if (!known.has_value()) known = Measure(pair, forced, true);
  return *known;
}

std::optional<Drift> PairedRuns::Glance(size_t pair, bool forced) {
  auto& known = known_[forced ? 1 : 0][0][pair];
  if (!known.has_value()) known = Measure(pair, forced, false);
  return *known;
}

}  // namespace plinth::verify
