// Writes forecasts as JSON, as commands and servers give them.
#pragma once

#include <span>
#include <string>

#include "plinth/engine/series_item.h"
#include "plinth/formats/json_writer.h"

namespace plinth::engine {

// One series' forecast beside the history it was made from.
struct ForecastResult {
  const SeriesItem* group;
  size_t target_index;
  std::string target;
  std::span<const double> values;  // [horizon][levels]
  std::span<const double> median;  // [horizon]
};

// {"item", "target", "start", "freq", "times", "mean", "quantiles"}. "mean" holds the point forecast, which
// is the median for models that give quantiles only; "item" is null where it has no name.
void WriteForecastJson(const ForecastResult& result, std::span<const double> levels,
                       formats::JsonWriter& json);

}  // namespace plinth::engine
