#include "plinth/server/recent_forecasts.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "plinth/base/text.h"
#include "plinth/evidence/unit.h"

namespace plinth::server {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr size_t kName = 200;  // bytes of an item's name that are kept
// Later histories are looked through no further back than this many rows.
constexpr int64_t kLookBack = 4096;

// Where a level lies in `levels`: between two of them, with the weight of the second.
struct Between {
  size_t first = 0, second = 0;
  double weight = 0;
  bool there = false;
};

Between Locate(std::span<const double> levels, double level) {
  constexpr double kSame = 1e-6;
  for (size_t i = 0; i < levels.size(); ++i) {
    if (std::abs(levels[i] - level) < kSame) return {i, i, 0, true};
    if (levels[i] < level) continue;
    if (i == 0) return {};
    return {i - 1, i, (level - levels[i - 1]) / (levels[i] - levels[i - 1]), true};
  }
  return {};
}

// The band that is shown: 80 %, or the widest that has both its edges.
struct Band {
  Between low, high;
  double percent = 0;
};

Band BandOf(std::span<const double> levels) {
  Band band{Locate(levels, 0.1), Locate(levels, 0.9), 80};
  if (band.low.there && band.high.there) return band;
  for (const double level : levels) {
    if (level >= 0.5 - 1e-6) break;
    band = {Locate(levels, level), Locate(levels, 1 - level), (1 - 2 * level) * 100};
    if (band.high.there && band.high.weight == 0) return band;
  }
  return {};
}

double At(std::span<const double> row, const Between& b) {
  return b.weight == 0 ? row[b.first] : row[b.first] * (1 - b.weight) + row[b.second] * b.weight;
}

void WriteNumbers(std::span<const double> values, formats::JsonWriter& w) {
  w.BeginArray();
  for (const double v : values) w.Number(v);
  w.EndArray();
}

void WriteTimes(std::span<const int64_t> times, formats::JsonWriter& w) {
  w.BeginArray();
  for (const int64_t t : times) w.Int(t);
  w.EndArray();
}

}  // namespace

RecentForecasts::RecentForecasts(Options options, const Clock& clock) : options_(options), clock_(clock) {}

// The length stands first, so that no two pairs read alike.
std::string RecentForecasts::KeyOf(std::string_view item, std::string_view target) {
  return StrCat(item.size(), ":", item, target);
}

RecentForecasts::Series* RecentForecasts::Find(const engine::SeriesItem& item, const std::string& target,
                                               bool make, size_t* fresh) {
  const std::string key = KeyOf(item.item, target);
  if (const auto at = places_.find(key); at != places_.end()) {
    series_.splice(series_.begin(), series_, at->second);
    return &series_.front();
  }
  if (!make || *fresh >= options_.fresh) return nullptr;
  ++*fresh;
  if (series_.size() >= options_.series) {
    places_.erase(KeyOf(series_.back().item, series_.back().target));
    series_.pop_back();
  }
  Series& series = series_.emplace_front();
  series.id = next_id_++;
  series.item = item.item;
  series.target = target;
  places_[key] = series_.begin();
  return &series;
}

void RecentForecasts::Learn(Series* series, const engine::SeriesItem& item, size_t target) {
  if (item.numbered || series->numbered || series->forecasts.empty()) return;
  const std::vector<double>& values = item.values[target];
  int64_t earliest = std::numeric_limits<int64_t>::max();
  for (const Forecast& f : series->forecasts) {
    if (!f.times.empty()) earliest = std::min(earliest, f.times.front());
  }
  const int64_t least = std::max<int64_t>(0, item.length() - kLookBack);
  for (int64_t k = item.length() - 1; k >= least; --k) {
    const int64_t time = item.TimeMs(k);
    if (time < earliest) break;
    const double value = values[static_cast<size_t>(k)];
    if (!std::isfinite(value)) continue;
    for (Forecast& f : series->forecasts) {
      const auto at = std::lower_bound(f.times.begin(), f.times.end(), time);
      if (at != f.times.end() && *at == time) f.truth[static_cast<size_t>(at - f.times.begin())] = value;
    }
  }
}

void RecentForecasts::TakeHistory(Series* series, const engine::SeriesItem& item, size_t target) const {
  const int64_t length = item.length();
  const int64_t begin = std::max<int64_t>(0, length - static_cast<int64_t>(options_.history));
  const std::vector<double>& values = item.values[target];
  series->history.assign(values.begin() + begin, values.end());
  series->times.clear();
  for (int64_t k = begin; k < length; ++k) series->times.push_back(item.TimeMs(k));
  series->numbered = item.numbered;
  series->offset_ms = item.numbered ? 0 : int64_t{60000} * item.origin.offset_minutes;
  series->frequency = item.numbered ? "" : item.FrequencyName();
}

RecentForecasts::Forecast RecentForecasts::Make(const Seen& seen, const engine::SeriesItem& item,
                                                std::span<const double> values) const {
  Forecast f;
  f.model = seen.model;
  f.evidence = seen.evidence;
  f.issued = clock_.Wall();
  const int64_t length = item.length();
  f.from = length > 0 ? item.TimeMs(length - 1) : 0;
  const size_t levels = seen.levels.size();
  const size_t steps = levels == 0 ? 0 : std::min(values.size() / levels, options_.horizon);
  const Band band = BandOf(seen.levels);
  const Between middle = Locate(seen.levels, 0.5);
  f.band = band.percent;
  for (size_t h = 0; h < steps; ++h) {
    const std::span<const double> row = values.subspan(h * levels, levels);
    f.times.push_back(item.TimeMs(length + static_cast<int64_t>(h)));
    f.median.push_back(middle.there ? At(row, middle) : kNaN);
    f.low.push_back(band.percent > 0 ? At(row, band.low) : kNaN);
    f.high.push_back(band.percent > 0 ? At(row, band.high) : kNaN);
  }
  f.truth.assign(steps, kNaN);
  return f;
}

void RecentForecasts::Keep(const Seen& seen, ValuesOf values) {
  size_t fresh = 0;
  const std::lock_guard lock(mutex_);
  for (size_t i = 0; i < seen.items.size(); ++i) {
    const engine::SeriesItem& item = seen.items[i];
    if (item.item.size() > kName) continue;
    for (size_t t = 0; t < seen.targets.size(); ++t) {
      Series* series = Find(item, seen.targets[t], true, &fresh);
      if (series == nullptr) continue;
      // Numbers of rows mean nothing to a request with time stamps, and the other way round.
      if (series->numbered != item.numbered) series->forecasts.clear();
      Learn(series, item, t);
      TakeHistory(series, item, t);
      Forecast made = Make(seen, item, values(i, t));
      series->forecasts.remove_if(
          [&](const Forecast& old) { return old.from == made.from && old.model == made.model; });
      series->forecasts.push_front(std::move(made));
      if (series->forecasts.size() > options_.kept) series->forecasts.pop_back();
      ++series->version;
      ++changes_;
    }
  }
}

void RecentForecasts::Observe(std::span<const engine::SeriesItem> items,
                              std::span<const std::string> targets) {
  size_t none = 0;
  const std::lock_guard lock(mutex_);
  if (series_.empty()) return;
  for (const engine::SeriesItem& item : items) {
    for (size_t t = 0; t < targets.size(); ++t) {
      Series* series = Find(item, targets[t], false, &none);
      if (series == nullptr || item.numbered || series->numbered) continue;
      Learn(series, item, t);
      ++series->version;
      ++changes_;
    }
  }
}

void RecentForecasts::WriteList(formats::JsonWriter& w) const {
  const std::lock_guard lock(mutex_);
  w.BeginArray();
  for (const Series& series : series_) {
    const Forecast& last = series.forecasts.front();
    int64_t known = 0, inside = 0, steps = 0;
    for (const Forecast& f : series.forecasts) {
      steps += static_cast<int64_t>(f.times.size());
      for (size_t h = 0; h < f.truth.size(); ++h) {
        if (!std::isfinite(f.truth[h]) || !std::isfinite(f.low[h])) continue;
        ++known;
        if (f.truth[h] >= f.low[h] && f.truth[h] <= f.high[h]) ++inside;
      }
    }
    w.BeginObject();
    w.Key("id"), w.Int(series.id);
    w.Key("item"), w.String(series.item);
    w.Key("target"), w.String(series.target);
    w.Key("model"), w.String(last.model);
    w.Key("evidence"), w.String(last.evidence);
    w.Key("issued"), w.String(evidence::Rfc3339(last.issued));
    w.Key("frequency"), w.String(series.frequency);
    w.Key("steps"), w.Int(steps);
    w.Key("kept"), w.Int(static_cast<int64_t>(series.forecasts.size()));
    w.Key("known"), w.Int(known);
    w.Key("inside"), w.Int(inside);
    w.Key("version"), w.Int(series.version);
    w.EndObject();
  }
  w.EndArray();
}

bool RecentForecasts::WriteSeries(int64_t id, formats::JsonWriter& w) const {
  const std::lock_guard lock(mutex_);
  const auto at =
      std::find_if(series_.begin(), series_.end(), [&](const Series& series) { return series.id == id; });
  if (at == series_.end()) return false;
  w.BeginObject();
  w.Key("id"), w.Int(at->id);
  w.Key("item"), w.String(at->item);
  w.Key("target"), w.String(at->target);
  w.Key("frequency"), w.String(at->frequency);
  w.Key("numbered"), w.Bool(at->numbered);
  w.Key("offset_ms"), w.Int(at->offset_ms);
  w.Key("version"), w.Int(at->version);
  w.Key("times"), WriteTimes(at->times, w);
  w.Key("history"), WriteNumbers(at->history, w);
  w.Key("forecasts"), w.BeginArray();
  for (const Forecast& f : at->forecasts) {
    w.BeginObject();
    w.Key("model"), w.String(f.model);
    w.Key("evidence"), w.String(f.evidence);
    w.Key("issued"), w.String(evidence::Rfc3339(f.issued));
    w.Key("band"), w.Number(f.band);
    w.Key("times"), WriteTimes(f.times, w);
    w.Key("low"), WriteNumbers(f.low, w);
    w.Key("median"), WriteNumbers(f.median, w);
    w.Key("high"), WriteNumbers(f.high, w);
    w.Key("truth"), WriteNumbers(f.truth, w);
    w.EndObject();
  }
  w.EndArray();
  w.EndObject();
  return true;
}

uint64_t RecentForecasts::changes() const {
  const std::lock_guard lock(mutex_);
  return changes_;
}

}  // namespace plinth::server
