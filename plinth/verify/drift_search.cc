#include "plinth/verify/drift_search.h"

#include <algorithm>
#include <cmath>

namespace plinth::verify {
namespace {

// By the share of their limits.
bool Worse(const Drift& a, const Drift& b) {
  if (a.significant() != b.significant()) return a.significant();
  return a.rel_l2 * b.limit > b.rel_l2 * a.limit;
}

}  // namespace

std::optional<Drift> DriftSearch::Explore(size_t pair, bool forced, Explored::What what) {
  std::optional<Drift> drift = runs_.Look(pair, forced);
  uint8_t& looked = looked_[forced ? 1 : 0][pair];
  if (drift.has_value() && !looked) {
    result_->explored.push_back({runs_.pairs()[pair].name, what, *drift});
    if (what == Explored::What::kLayer) ++result_->looks;
  }
  looked = 1;
  return drift;
}

bool DriftSearch::Drifted(size_t layer) {
  const auto drift = Explore(layers_[layer].output, false, Explored::What::kLayer);
  return drift.has_value() && drift->significant();
}

// Drift is taken to stay once it is there, which FirstFree holds against what costs nothing.
std::optional<size_t> DriftSearch::ByBisection() {
  if (layers_.empty() || !Drifted(layers_.size() - 1)) return std::nullopt;
  // Of the first grid point that drifts, and of the last that does not.
  const size_t stride = static_cast<size_t>(std::max<int64_t>(stride_, 1));
  size_t bad = layers_.size() - 1, good = 0;  // `good` counts layers known to be good, one after another
  size_t low = 0, high = bad / stride;        // grid point i stands at (i + 1) * stride - 1
  while (low < high) {
    const size_t middle = low + (high - low) / 2, at = (middle + 1) * stride - 1;
    if (at >= bad) {
      high = middle;
    } else if (Drifted(at)) {
      bad = at;
      high = middle;
    } else {
      good = at + 1;
      low = middle + 1;
    }
  }
  while (good < bad) {
    const size_t middle = good + (bad - good) / 2;
    if (Drifted(middle)) {
      bad = middle;
    } else {
      good = middle + 1;
    }
  }
  return bad;
}

std::optional<size_t> DriftSearch::FirstFree() {
  const std::optional<size_t> found = ByBisection();
  const size_t end = found.value_or(layers_.size());
  for (size_t i = 0; i < end; ++i) {
    const auto glance = runs_.Glance(layers_[i].output, false);
    if (glance.has_value() && glance->significant() && Drifted(i)) return i;
  }
  // Behind a coarser type nothing of a finer drift is significant any more: the last layer before it must be
  // looked at.
  for (size_t i = 0; i < end && i + 1 < layers_.size(); ++i) {
    const auto line = [&](size_t layer) { return runs_.pairs()[layers_[layer].output].line; };
    if (line(i + 1) <= line(i) || !Drifted(i)) continue;
    while (i > 0 && Drifted(i - 1)) --i;
    return i;
  }
  return found;
}

std::optional<Drift> DriftSearch::Local(size_t layer) {
  std::optional<Drift> worst;
  for (const size_t p : layers_[layer].pairs) {
    if (runs_.pairs()[p].direction != formats::CaptureDirection::kOutput) continue;
    if (!runs_.Comparable(p, true)) continue;
    looked_[1][p] = 1;
    auto drift = runs_.Look(p, true);
    if (drift.has_value() && (!worst.has_value() || Worse(*drift, *worst))) worst = std::move(drift);
  }
  if (worst.has_value()) result_->explored.push_back({layers_[layer].module, Explored::What::kLocal, *worst});
  return worst;
}

// The first layer that is wrong by itself. Where free running drifts first is tried first; what a layer
// before it does wrong would show in the free run too.
std::optional<size_t> DriftSearch::FirstLocal(std::optional<size_t> free) {
  const auto wrong = [&](size_t i) {
    const auto drift = Local(i);
    return drift.has_value() && drift->significant();
  };
  if (free.has_value() && wrong(*free)) return free;
  for (size_t i = 0; i < layers_.size(); ++i) {
    if (i != free && wrong(i)) return i;
  }
  return std::nullopt;
}

void DriftSearch::Describe(size_t layer, bool local) {
  const Layer& unit = layers_[layer];
  const Pair& pair = runs_.pairs()[unit.output];
  FirstDrift first;
  first.name = pair.name;
  first.op = pair.op;
  first.module = unit.module;
  first.layer = unit.layer;
  first.step = unit.step;
  found_ = layer;
  result_->first_drift = std::move(first);
  NarrowDown(layer, local);
}

// Compares all that was recorded inside the layer, in the order of execution.
void DriftSearch::NarrowDown(size_t layer, bool forced) {
  FirstDrift& first = *result_->first_drift;
  size_t at = layers_[layer].output;
  for (const size_t p : layers_[layer].pairs) {
    const Pair& pair = runs_.pairs()[p];
    if (pair.direction != formats::CaptureDirection::kOutput || p == layers_[layer].output) continue;
    if (p > layers_[layer].output || !runs_.Comparable(p, forced)) continue;
    const auto drift = Explore(p, forced, Explored::What::kOperator);
    if (!drift.has_value() || !drift->significant()) continue;
    at = p;
    break;
  }
  const Pair& pair = runs_.pairs()[at];
  first.name = pair.name;
  first.op = pair.op;
  const auto free = runs_.Look(at, false), local = runs_.Look(at, true);
  if (free.has_value()) first.free = free->rel_l2;
  if (local.has_value()) first.local = local->rel_l2;
  if (const auto& shown = forced && local.has_value() ? local : free; shown.has_value()) {
    first.limit = shown->limit;
    first.by = shown->by;
    first.note = shown->note;
  }
  LookAtInputs(at, layers_[layer], forced);
}

// An operator whose inputs differ already may be right: weights that were changed, an unrecorded operator.
void DriftSearch::LookAtInputs(size_t pair, const Layer& layer, bool forced) {
  FirstDrift& first = *result_->first_drift;
  for (const size_t p : layer.pairs) {
    const Pair& other = runs_.pairs()[p];
    if (other.direction != formats::CaptureDirection::kInput || other.name != runs_.pairs()[pair].name)
      continue;
    const auto drift = Explore(p, forced, Explored::What::kOperator);
    if (!drift.has_value() || !drift->significant()) continue;
    if (!first.note.empty()) first.note += "; ";
    StrAppend(&first.note, "input ", other.port,
              " of it differs already: a changed weight, or an operator before "
              "it that was not recorded");
    return;
  }
}

void DriftSearch::FillLayers() {
  constexpr int64_t kSmall = int64_t{1} << 24;  // elements that are compared for the picture's sake
  int64_t left = kSmall;
  const auto of = [&](size_t pair, bool forced) -> std::optional<Drift> {
    if (looked_[forced ? 1 : 0][pair]) return runs_.Look(pair, forced);
    if (!runs_.Comparable(pair, forced)) return std::nullopt;
    left -= runs_.Elements(pair);
    return left > 0 ? runs_.Look(pair, forced) : runs_.Glance(pair, forced);
  };
  std::optional<Drift> before;
  for (const Layer& unit : layers_) {
    LayerDrift row{unit.module, runs_.pairs()[unit.output].name, unit.layer, unit.step, {}, {}, {}};
    row.free = of(unit.output, false);
    for (const size_t p : unit.pairs) {
      if (!runs_.has_forced() || runs_.pairs()[p].direction != formats::CaptureDirection::kOutput) continue;
      auto drift = of(p, true);
      if (drift.has_value() && (!row.local.has_value() || Worse(*drift, *row.local))) {
        row.local = std::move(drift);
      }
    }
    if (row.free.has_value()) {
      // A bound says little beside what it bounds.
      const bool alike = before.has_value() && before->by == row.free->by && before->rel_l2 > 0;
      if (alike && std::isfinite(before->rel_l2) && std::isfinite(row.free->rel_l2)) {
        row.amplification = row.free->rel_l2 / before->rel_l2;
      }
      before = row.free;
    }
    result_->layers.push_back(std::move(row));
  }
}

void DriftSearch::Run(LocateResult* result) {
  result_ = result;
  for (auto& list : looked_) list.assign(runs_.pairs().size(), 0);
  const std::optional<size_t> free = FirstFree();
  std::optional<size_t> local;
  if (runs_.has_forced()) local = FirstLocal(free);
  if (local.has_value()) {
    Describe(*local, true);
  } else if (free.has_value()) {
    Describe(*free, false);
    result_->first_drift->accumulated = runs_.has_forced();
  }
  FillLayers();
  if (found_.has_value()) result_->first_drift->amplification = result_->layers[*found_].amplification;
}

}  // namespace plinth::verify
