#include "plinth/report/series_view.h"

#include <cmath>

#include "plinth/base/text.h"

namespace plinth {
namespace {

constexpr double kSameLevel = 1e-6;

std::string TimeFault(const TimePoints& time, size_t values, std::string_view what) {
  if (time.ms.size() != values || time.text.size() != values) {
    return StrCat(what, " has ", values, " values, ", time.ms.size(), " times and ", time.text.size(),
                  " time texts; the three must be equal");
  }
  for (size_t i = 1; i < values; ++i) {
    if (time.ms[i] < time.ms[i - 1]) return StrCat(what, " time ", i, " lies before time ", i - 1);
  }
  return "";
}

}  // namespace

std::string SeriesTitle(const SeriesView& series) {
  if (series.item.empty()) return series.target;
  if (series.target.empty()) return series.item;
  return StrCat(series.item, " · ", series.target);
}

std::vector<double> QuantileAt(const SeriesView& series, double level) {
  const QuantileLine* below = nullptr;
  for (const QuantileLine& line : series.quantiles) {
    if (std::abs(line.level - level) < kSameLevel) return line.values;
    if (line.level < level) {
      below = &line;
      continue;
    }
    if (below == nullptr) return {};
    const double weight = (level - below->level) / (line.level - below->level);
    std::vector<double> values(line.values.size());
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = below->values[i] * (1 - weight) + line.values[i] * weight;
    }
    return values;
  }
  return {};
}

std::string Inconsistency(const SeriesView& series) {
  std::string fault = TimeFault(series.history_time, series.history.size(), "the history");
  if (!fault.empty()) return fault;
  const size_t steps = series.forecast_time.ms.size();
  fault = TimeFault(series.forecast_time, steps, "the forecast");
  if (!fault.empty()) return fault;
  if (!series.mean.empty() && series.mean.size() != steps) {
    return StrCat("the mean has ", series.mean.size(), " values for ", steps, " forecast steps");
  }
  if (!series.actual.empty() && series.actual.size() != steps) {
    return StrCat("the actual values number ", series.actual.size(), " for ", steps, " forecast steps");
  }
  double last = 0;
  for (const QuantileLine& line : series.quantiles) {
    if (!(line.level > last && line.level < 1)) {
      return StrCat("quantile level ", line.level, " follows ", last, "; levels must ascend inside (0, 1)");
    }
    last = line.level;
    if (line.values.size() != steps) {
      return StrCat("quantile ", line.level, " has ", line.values.size(), " values for ", steps,
                    " forecast steps");
    }
  }
  return "";
}

}  // namespace plinth
