#include "plinth/engine/backtest.h"

#include <algorithm>

#include "plinth/series/quantiles.h"

namespace plinth::engine {

Backtest::Backtest(std::shared_ptr<Forecaster> forecaster, BacktestOptions options)
    : forecaster_(std::move(forecaster)), options_(std::move(options)) {
  seen_ = options_.context == 0 ? forecaster_->info().context_length : options_.context;
  scores_.assign(options_.report.size(), series::BacktestScores(options_.season));
}

StatusOr<Backtest> Backtest::Make(std::shared_ptr<Forecaster> forecaster, BacktestOptions o) {
  const auto refuse = [](std::string why) { return absl::InvalidArgumentError(why); };
  if (o.horizon < 1) return refuse(StrCat("the horizon is ", o.horizon, "; it must be at least 1"));
  if (o.windows < 1) return refuse(StrCat("the number of windows is ", o.windows, "; it must be at least 1"));
  if (o.season < 1) return refuse(StrCat("the season is ", o.season, "; it must be at least 1"));
  if (o.context < 0 || o.stride < 0) return refuse("context and stride must not be negative");
  if (o.stride == 0) o.stride = o.horizon;
  if (o.report.empty()) o.report = {o.horizon};
  for (const int64_t h : o.report) {
    if (h < 1 || h > o.horizon) {
      return refuse(StrCat("the report asks for the first ", h, " steps of a horizon of ", o.horizon,
                           "; prefixes have 1 to ", o.horizon, " steps"));
    }
  }
  return Backtest(std::move(forecaster), std::move(o));
}

int64_t Backtest::least_length() const { return LeastContext() + options_.horizon; }

std::string Backtest::LeastLengthText() const {
  return StrCat(least_length(), " steps (one season of ", options_.season, " and more, then a horizon of ",
                options_.horizon, ")");
}

int64_t Backtest::WindowsOf(int64_t length) const {
  if (length < least_length()) return 0;
  return std::min(options_.windows, (length - least_length()) / options_.stride + 1);
}

Status Backtest::CheckLength(int64_t length) const {
  if (WindowsOf(length) > 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      StrCat("the series has ", length, " steps; one window needs at least ", LeastLengthText()));
}

void Backtest::Score(std::span<const double> y, int64_t origin, const Forecast& forecast,
                     const std::vector<double>& levels) {
  const int64_t first = std::max<int64_t>(0, origin - seen_);
  const auto context = y.subspan(static_cast<size_t>(first), static_cast<size_t>(origin - first));
  for (size_t r = 0; r < options_.report.size(); ++r) {
    const size_t steps = static_cast<size_t>(options_.report[r]);
    const std::span<const double> values(forecast.values.data(), steps * levels.size());
    scores_[r].Add(y.subspan(static_cast<size_t>(origin), steps), {values, levels}, context);
  }
}

Status Backtest::Add(std::span<const SeriesItem> unit, GroupMaker& maker, StopCheck cancelled) {
  const auto origin_of = [&](const SeriesItem& item, int64_t k) {
    return item.length() - options_.horizon - k * options_.stride;
  };
  maker.Clear();
  std::vector<std::vector<size_t>> places(unit.size());  // of each item's windows among all
  size_t count = 0;
  for (int64_t k = 0; k < options_.windows; ++k) {
    std::vector<Window> windows;
    for (size_t i = 0; i < unit.size(); ++i) {
      if (k >= WindowsOf(unit[i].length())) continue;
      windows.push_back({&unit[i], origin_of(unit[i], k)});
      places[i].push_back(count++);
    }
    if (windows.empty()) break;
    maker.Add(windows, options_.horizon);
  }
  const ForecastRequest request{options_.horizon, std::min(seen_, forecaster_->most_context()),
                                series::Deciles()};
  PLINTH_ASSIGN_OR_RETURN(const auto forecasts, forecaster_->Run(maker.groups(), request, cancelled));
  for (size_t i = 0; i < unit.size(); ++i) {
    const size_t targets = unit[i].values.size();
    for (size_t t = 0; t < targets; ++t) {
      for (size_t k = 0; k < places[i].size(); ++k) {
        const int64_t origin = origin_of(unit[i], static_cast<int64_t>(k));
        Score(unit[i].values[t], origin, forecasts[places[i][k] * targets + t], request.levels);
      }
      series_ += !places[i].empty();
    }
  }
  maker.Clear();
  return absl::OkStatus();
}

}  // namespace plinth::engine
