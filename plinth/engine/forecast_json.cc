#include "plinth/engine/forecast_json.h"

#include "plinth/series/quantiles.h"

namespace plinth::engine {

void WriteForecastJson(const ForecastResult& r, std::span<const double> levels, formats::JsonWriter& json) {
  const SeriesItem& g = *r.group;
  const auto time = [&](size_t step) {
    const int64_t k = g.length() + static_cast<int64_t>(step);
    g.numbered ? json.Int(g.TimeMs(k)) : json.String(g.TimeText(k));
  };
  json.BeginObject();
  json.Key("item");
  g.item.empty() ? json.Null() : json.String(g.item);
  json.Key("target"), json.String(r.target);
  json.Key("start"), time(0);
  json.Key("freq"), json.String(g.FrequencyName());
  json.Key("times");
  json.BeginArray();
  for (size_t h = 0; h < r.median.size(); ++h) time(h);
  json.EndArray();
  json.Key("mean");
  json.BeginArray();
  for (const double v : r.median) json.Number(v);
  json.EndArray();
  json.Key("quantiles");
  json.BeginObject();
  for (size_t k = 0; k < levels.size(); ++k) {
    json.Key(series::QuantileName(levels[k]));
    json.BeginArray();
    for (size_t h = 0; h < r.median.size(); ++h) json.Number(r.values[h * levels.size() + k]);
    json.EndArray();
  }
  json.EndObject();
  json.EndObject();
}

}  // namespace plinth::engine
