// Keeps the last forecasts of the series that were asked for lately, and the truth that came later.
#pragma once

#include <cstdint>
#include <list>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "absl/functional/function_ref.h"
#include "plinth/base/clock.h"
#include "plinth/engine/series_item.h"
#include "plinth/formats/json_writer.h"

namespace plinth::server {

// Bounded and thread-safe. A series is an item's target. A forecast from the same last time stamp by the same
// model takes the place of the one before, so that a repeated request pushes nothing out. Truth is what a
// later request of the series has at the times of an earlier forecast; rows without time stamps are numbered
// anew by each request and have none.
class RecentForecasts {
 public:
  struct Options {
    size_t series = 64;    // beyond, the one that was not asked for the longest goes
    size_t kept = 4;       // forecasts of one series
    size_t history = 240;  // values before the last forecast
    size_t horizon = 512;  // steps of one forecast
    size_t fresh = 16;     // series of one request that are new here; more of it are left out
  };
  explicit RecentForecasts(Options options, const Clock& clock = Clock::System());

  // One request's forecasts. `values` gives those of an item's target: [horizon][levels].
  struct Seen {
    std::string_view model, evidence;
    std::span<const engine::SeriesItem> items;
    std::span<const std::string> targets;
    std::span<const double> levels;  // ascending
  };
  using ValuesOf = absl::FunctionRef<std::span<const double>(size_t item, size_t target)>;
  void Keep(const Seen& seen, ValuesOf values);
  // Values without a forecast: truth of earlier ones.
  void Observe(std::span<const engine::SeriesItem> items, std::span<const std::string> targets);

  // A list of {"id", "item", "target", "model", "evidence", "issued", "frequency", "steps", "kept", "known",
  // "inside", "version"}, the one asked for last first. `known` counts steps whose truth came and that have a
  // band, `inside` those of them within it; `version` grows with each change of the series.
  void WriteList(formats::JsonWriter& json) const;
  // The series with its history and forecasts, newest first; false where there is none of that id.
  bool WriteSeries(int64_t id, formats::JsonWriter& json) const;
  uint64_t changes() const;

 private:
  struct Forecast {
    std::string model, evidence;
    int64_t issued = 0;  // Clock::Wall
    int64_t from = 0;    // time of the last value it was made from
    double band = 0;     // percent between low and high; 0: no band
    std::vector<int64_t> times;
    std::vector<double> low, median, high, truth;  // truth is NaN until it comes
  };
  struct Series {
    int64_t id = 0;
    std::string item, target, frequency;
    bool numbered = false;
    int64_t version = 0, offset_ms = 0;  // what makes times read as the request wrote them
    std::vector<int64_t> times;          // of the history
    std::vector<double> history;
    std::list<Forecast> forecasts;  // newest first
  };
  using Place = std::list<Series>::iterator;

  static std::string KeyOf(std::string_view item, std::string_view target);
  static void Learn(Series* series, const engine::SeriesItem& item, size_t target);
  void TakeHistory(Series* series, const engine::SeriesItem& item, size_t target) const;
  Forecast Make(const Seen& seen, const engine::SeriesItem& item, std::span<const double> values) const;
  Series* Find(const engine::SeriesItem& item, const std::string& target, bool make, size_t* fresh);

  const Options options_;
  const Clock& clock_;
  mutable std::mutex mutex_;
  std::list<Series> series_;  // the one asked for last first
  std::unordered_map<std::string, Place> places_;
  int64_t next_id_ = 1;
  uint64_t changes_ = 0;
};

}  // namespace plinth::server
