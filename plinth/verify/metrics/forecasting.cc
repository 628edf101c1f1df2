// Forecasting: MASE, WQL, MAE, RMSE and coverage of each window by series/metrics.h, averaged over windows,
// and how far the two sides' forecasts are apart.
#include <algorithm>
#include <cmath>

#include "plinth/series/metrics.h"
#include "plinth/series/quantiles.h"
#include "plinth/verify/metrics/task.h"

namespace plinth::verify::metrics {
namespace {

using formats::JsonValue;

// A window's forecast: levels, and values [horizon, levels].
struct Forecast {
  std::vector<double> levels, values;
  size_t horizon = 0;
};

class ForecastingTask : public Task {
 public:
  explicit ForecastingTask(int64_t season) : season_(season) {
    Between("agreement", Better::kHigher, 1);
    mase_ = Mean("mase", Better::kLower);
    wql_ = Mean("wql", Better::kLower);
    mae_ = Mean("mae", Better::kLower);
    rmse_ = Mean("rmse", Better::kLower);
    coverage_ = Mean("coverage_80", Better::kNeither);
    apart_ = Between("rel_l2", Better::kLower, 0);
    apart_max_ = Between("rel_l2_max", Better::kLower, 0, SampleMetric::Fold::kMax);
  }

  Status Add(const Sample& sample) override {
    PLINTH_ASSIGN_OR_RETURN(const std::vector<double> truth, sample.truth.Reals("truth", true));
    std::vector<double> context;
    if (sample.truth.Find("context") != nullptr) {
      PLINTH_ASSIGN_OR_RETURN(context, sample.truth.Reals("context", true));
    }
    int64_t season = season_;
    if (const JsonValue* value = sample.truth.Find("season")) {
      if (value->integer() == nullptr || *value->integer() < 1) {
        return sample.truth.Refuse("season", value, "a whole number of at least 1");
      }
      season = *value->integer();
    }
    PLINTH_ASSIGN_OR_RETURN(const Forecast reference, Read(sample.reference, truth.size()));
    PLINTH_ASSIGN_OR_RETURN(const Forecast candidate, Read(sample.candidate, truth.size()));
    if (reference.levels != candidate.levels) {
      return sample.candidate.Refuse(
          "\"quantiles\" has other levels than the reference; the same are expected");
    }
    const auto scores = [&](const Forecast& f) {
      return series::ScoreWindow(truth, {f.values, f.levels}, context, season);
    };
    const series::Scores a = scores(reference), b = scores(candidate);
    const size_t i = sample.index;
    Set(mase_, i, a.mase, b.mase);
    Set(wql_, i, a.wql, b.wql);
    Set(mae_, i, a.mae, b.mae);
    Set(rmse_, i, a.rmse, b.rmse);
    Set(coverage_, i, a.coverage_80, b.coverage_80);
    const double apart = RelativeL2(reference.values, candidate.values);
    metrics[apart_].Set(i, 0, apart);
    metrics[apart_max_].Set(i, 0, apart);
    metrics[0].Set(i, 0, reference.values == candidate.values ? 1 : 0);
    return absl::OkStatus();
  }

 private:
  // A score that a window does not have is left out of its mean.
  void Set(size_t metric, size_t i, double reference, double candidate) {
    const bool defined = !std::isnan(reference) && !std::isnan(candidate);
    metrics[metric].Set(i, defined ? reference : 0, defined ? candidate : 0, defined ? 1 : 0);
  }

  static double RelativeL2(const std::vector<double>& a, const std::vector<double>& b) {
    double apart = 0, size = 0;
    for (size_t i = 0; i < a.size(); ++i) apart += (b[i] - a[i]) * (b[i] - a[i]), size += a[i] * a[i];
    if (apart == 0) return 0;
    return size == 0 ? std::numeric_limits<double>::infinity() : std::sqrt(apart / size);
  }

  static StatusOr<Forecast> Read(const Row& row, size_t horizon) {
    constexpr std::string_view kWanted = "an object {level: values} with the level 0.5";
    const JsonValue* value = row.Find("quantiles");
    if (value == nullptr || value->object() == nullptr || value->object()->empty()) {
      return row.Refuse("quantiles", value, kWanted);
    }
    std::vector<std::pair<double, std::vector<double>>> columns;
    for (const auto& [name, list] : *value->object()) {
      const std::string path = StrCat("quantiles.", name);
      const auto level = series::ParseQuantiles(name);
      if (!level.ok() || level->size() != 1)
        return row.Refuse(path, &list, "a name that is a level such as 0.5");
      PLINTH_ASSIGN_OR_RETURN(std::vector<double> values, row.Reals(path, list, false));
      if (values.size() != horizon) {
        return row.Refuse(path, &list, StrCat("a list of ", horizon, " values, as many as the truth has,"));
      }
      columns.emplace_back((*level)[0], std::move(values));
    }
    std::sort(columns.begin(), columns.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    Forecast forecast;
    forecast.horizon = horizon;
    for (size_t c = 0; c < columns.size(); ++c) {
      if (c > 0 && columns[c].first == columns[c - 1].first) {
        return row.Refuse(StrCat("\"quantiles\" names the level ", series::QuantileName(columns[c].first),
                                 " twice; once is expected"));
      }
      forecast.levels.push_back(columns[c].first);
    }
    if (std::find(forecast.levels.begin(), forecast.levels.end(), 0.5) == forecast.levels.end()) {
      return row.Refuse("quantiles", value, kWanted);
    }
    for (size_t h = 0; h < horizon; ++h) {
      for (const auto& [level, values] : columns) forecast.values.push_back(values[h]);
    }
    return forecast;
  }

  const int64_t season_;
  size_t mase_, wql_, mae_, rmse_, coverage_, apart_, apart_max_;
};

}  // namespace

StatusOr<std::unique_ptr<Task>> MakeForecastingTask(const MetricsOptions& options) {
  return std::make_unique<ForecastingTask>(options.season);
}

}  // namespace plinth::verify::metrics
