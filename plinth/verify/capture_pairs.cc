#include "plinth/verify/capture_pairs.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <tuple>

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

Drift Compared(const StridedRef& a, const StridedRef& b) {
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

// The element types that a capture says its run computes in.
std::set<std::string> DeclaredTypes(const Capture& capture) {
  std::set<std::string> types;
  for (const char* key : {"weights", "autocast", "default", "compute"}) {
    const formats::JsonValue* value = capture.info().precision.Find(key);
    if (value != nullptr && value->text() != nullptr) types.insert(*value->text());
  }
  const formats::JsonValue* weights = capture.info().precision.Find("weight_types");
  if (weights != nullptr && weights->object() != nullptr) {
    for (const auto& [type, count] : *weights->object()) types.insert(type);
  }
  return types;
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

StatusOr<std::unique_ptr<PairedRuns>> PairedRuns::Make(const RunCaptures& reference,
                                                       const RunCaptures& output, const DriftLines& lines,
                                                       const TensorMap* map, bool check_digests) {
  std::unique_ptr<PairedRuns> runs(new PairedRuns(reference, output, lines, map, check_digests));
  if (map != nullptr) {
    for (const auto* list : {&output.free, &output.forced}) {
      for (const Capture* capture : *list) PLINTH_RETURN_IF_ERROR(runs->MapNames(*capture));
    }
  }
  runs->MakePairs();
  return runs;
}

Status PairedRuns::MapNames(const Capture& capture) {
  std::vector<std::string> names;
  std::map<std::string, size_t> place;
  for (const CaptureEntry& entry : capture.entries()) {
    if (place.emplace(entry.name, names.size()).second) names.push_back(entry.name);
  }
  PLINTH_ASSIGN_OR_RETURN(const std::vector<std::string> mapped, map_->MapNames(names));
  auto& keys = keys_[&capture];
  for (const CaptureEntry& entry : capture.entries()) {
    CaptureEntry renamed;
    renamed.name = mapped[place.at(entry.name)];
    renamed.direction = entry.direction, renamed.port = entry.port, renamed.step = entry.step;
    keys.emplace(renamed.Key(), &entry);
  }
  return absl::OkStatus();
}

const CaptureEntry* PairedRuns::Side::Find(const std::string& key) const {
  if (keys == nullptr) return capture->Find(key);
  const auto at = keys->find(key);
  return at == keys->end() ? nullptr : at->second;
}

PairedRuns::Side PairedRuns::SideOf(const Capture* capture, bool output) const {
  const auto keys = keys_.find(capture);
  return {capture, output, keys == keys_.end() ? nullptr : &keys->second};
}

void PairedRuns::MakePairs() {
  const Capture& first = *reference_.free[0];
  const Side other = SideOf(output_.free.empty() ? output_.forced[0] : output_.free[0], true);
  const std::set<std::string> declared = DeclaredTypes(*other.capture);
  // The coarsest line up to each index of the other side; a type that nothing declares makes none.
  std::map<int64_t, double> coarsest;
  double line = 0;
  for (const CaptureEntry& entry : other.capture->entries()) {
    if (declared.contains(entry.dtype)) line = std::max(line, lines_.LineOf(entry.dtype));
    coarsest[entry.index] = line;
  }
  line = 0;
  int64_t missing = 0;
  std::string first_missing;
  for (const CaptureEntry& entry : first.entries()) {
    line = std::max(line, lines_.LineOf(entry.dtype));
    const std::string key = entry.Key();
    const CaptureEntry* twin = other.Find(key);
    if (twin == nullptr) {
      if (entry.direction == formats::CaptureDirection::kOutput && missing++ == 0) first_missing = entry.name;
      continue;
    }
    const double own = lines_.LineOf(entry.dtype), theirs = lines_.LineOf(twin->dtype);
    pairs_.push_back({key, entry.name, entry.op, entry.step, entry.port, entry.direction,
                      own == 0 && theirs == 0 ? 0 : std::max(line, coarsest[twin->index]), ""});
    if (!(own > 0 && theirs > own)) continue;
    const bool said = declared.contains(twin->dtype);
    if (!said) pairs_.back().undeclared = twin->dtype;
    NoteType(pairs_.back(), entry.dtype, twin->dtype, said);
  }
  if (missing > 0) {
    notes_.push_back(StrCat("the candidate lacks ", missing, missing == 1 ? " output" : " outputs",
                            " that the reference has, the first of them ",
                            formats::QuotedShort(first_missing), ": nothing is said about ",
                            missing == 1 ? "it" : "them"));
  }
  for (auto& by_mode : known_) {
    for (auto& list : by_mode) list.resize(pairs_.size());
  }
}

// Of each pair of types once.
void PairedRuns::NoteType(const Pair& pair, const std::string& own, const std::string& theirs,
                          bool declared) {
  if (!noted_.insert(StrCat(own, " ", theirs)).second) return;
  notes_.push_back(declared ? StrCat("the candidate declares ", theirs, " where the reference has ", own,
                                     ", first at ", pair.name, ": differences up to ", lines_.LineOf(theirs),
                                     " count as rounding from there on")
                            : StrCat("the candidate has ", theirs, " where the reference has ", own,
                                     ", first at ", pair.name, ", and its precision declares no ", theirs,
                                     ": that counts as drift"));
}

bool PairedRuns::RightDigest(const Side& side, const CaptureEntry& entry) {
  if (!check_digests_) return true;
  const auto [at, fresh] = checked_.emplace(std::pair(side.capture, entry.index), true);
  if (fresh) {
    const Status status = side.capture->VerifyDigest(entry);
    at->second = status.ok();
    problem_.Update(status);
  }
  return at->second;
}

std::optional<Drift> PairedRuns::DistanceOfTensors(const Side& a, const Side& b, const Pair& pair,
                                                   const CaptureEntry& x, const CaptureEntry& y) {
  if (!RightDigest(a, x) || !RightDigest(b, y)) return std::nullopt;
  StridedRef views[2] = {*a.capture->Tensor(x), *b.capture->Tensor(y)};
  for (const auto& [side, view, entry] : {std::tuple(&a, &views[0], &x), std::tuple(&b, &views[1], &y)}) {
    if (map_ == nullptr) continue;
    auto laid = map_->LayOut(pair.name, side->output, *side->capture->Tensor(*entry));
    problem_.Update(laid.status());
    if (!laid.ok()) return std::nullopt;
    *view = *std::move(laid);
    if (view->size() == 0 && side->capture->Tensor(*entry)->bytes > 0) {
      problem_.Update(absl::InvalidArgumentError(
          StrCat("the map leaves no element of ", formats::QuotedShort(pair.name),
                 ": nothing of it would be compared; cut it smaller, or leave it out")));
      return std::nullopt;
    }
  }
  Drift drift;
  if (views[0].size() != views[1].size() || !formats::SameOrder(views[0].dims, views[1].dims)) {
    // Two programs may lay a batch out in two ways (packed rows, padded rows); one program does not.
    if (x.layout != y.layout || Framework(*a.capture) != Framework(*b.capture)) return std::nullopt;
    drift = Broken(Drift::By::kTensors, StrCat("the shape is ", ShapeText(y), " and not ", ShapeText(x)));
  } else {
    drift = Compared(views[0], views[1]);
  }
  a.capture->ReleasePages(x);
  b.capture->ReleasePages(y);
  return drift;
}

std::optional<Drift> PairedRuns::Distance(const Side& a, const Side& b, const Pair& pair, bool tensors) {
  const CaptureEntry *x = a.Find(pair.key), *y = b.Find(pair.key);
  if (x == nullptr || y == nullptr) return std::nullopt;
  const bool full = a.capture->Tensor(*x) != nullptr && b.capture->Tensor(*y) != nullptr;
  // Equal bytes that are laid out in two ways are not equal.
  const bool mapped = map_ != nullptr && a.output != b.output;
  if (!mapped && !x->digest.empty() && x->digest == y->digest && x->dtype == y->dtype) {
    if (full && tensors && (!RightDigest(a, *x) || !RightDigest(b, *y))) return std::nullopt;
    return Drift{};
  }
  if (full && tensors) return DistanceOfTensors(a, b, pair, *x, *y);
  if (!formats::SameOrder(x->dims, y->dims)) {
    // Only the tensors themselves can be laid out anew.
    if (mapped || x->layout != y->layout || Framework(*a.capture) != Framework(*b.capture))
      return std::nullopt;
    return Broken(full ? Drift::By::kTensors : Drift::By::kStatistics,
                  StrCat("the shape is ", ShapeText(*y), " and not ", ShapeText(*x)));
  }
  if (!x->stats.has_value() || !y->stats.has_value()) return std::nullopt;
  return Estimated(*x->stats, *y->stats);
}

double PairedRuns::Band(const Pair& pair, bool tensors) {
  double band = 0;
  for (const bool output : {false, true}) {
    const std::vector<const Capture*>& list = output ? output_.free : reference_.free;
    for (size_t i = 1; i < list.size(); ++i) {
      const auto drift = Distance(SideOf(list[0], output), SideOf(list[i], output), pair, tensors);
      if (drift.has_value() && std::isfinite(drift->rel_l2)) band = std::max(band, drift->rel_l2);
    }
  }
  return band;
}

std::optional<Drift> PairedRuns::Measure(size_t pair, bool forced, bool tensors) {
  const Pair& p = pairs_[pair];
  std::optional<Drift> worst;
  for (const Capture* output : forced ? output_.forced : output_.free) {
    auto drift = Distance(SideOf(reference_.free[0], false), SideOf(output, true), p, tensors);
    if (drift.has_value() && (!worst.has_value() || drift->rel_l2 > worst->rel_l2)) worst = std::move(drift);
  }
  if (!worst.has_value()) return worst;
  worst->limit = p.line;
  if (worst->rel_l2 == 0 || !worst->note.empty()) return worst;
  const CaptureEntry* entry = reference_.free[0]->Find(p.key);
  if (!p.undeclared.empty()) {
    worst->limit = 0;
    worst->note = StrCat("its type is ", p.undeclared, ", the reference's ", entry->dtype,
                         ", and the candidate's precision declares no ", p.undeclared);
    return worst;
  }
  if (const double band = Band(p, tensors); band > 0) {
    const auto element = ElementFromName(entry->dtype);
    const double unit = element.has_value() ? InfoOf(*element).unit : 0;
    worst->limit = std::max(1.5 * band, std::min(p.line, kLeastUnits * unit));
  } else if (worst->by == Drift::By::kStatistics) {
    worst->limit = p.line * StatisticsShare(entry->dims);
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
  const Side a = SideOf(reference_.free[0], false), b = SideOf(outputs[0], true);
  const CaptureEntry *x = a.Find(pairs_[pair].key), *y = b.Find(pairs_[pair].key);
  if (x == nullptr || y == nullptr) return false;
  const bool tensors = a.capture->Tensor(*x) != nullptr && b.capture->Tensor(*y) != nullptr;
  const bool same_way = x->layout == y->layout && Framework(*a.capture) == Framework(*b.capture);
  const bool ordered = formats::SameOrder(x->dims, y->dims);
  if (map_ != nullptr && !ordered) return tensors;
  if (!same_way && !ordered) return false;
  return (!x->digest.empty() && x->digest == y->digest) || (x->stats.has_value() && y->stats.has_value()) ||
         tensors;
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
