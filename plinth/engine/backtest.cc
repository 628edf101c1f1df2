#include "plinth/engine/backtest.h"

#include <algorithm>

#include "plinth/series/quantiles.h"

namespace plinth::engine {

Backtest::Backtest(Session& session, BacktestOptions options)
    : session_(&session), options_(std::move(options)) {
  seen_ = options_.context == 0 ? session.model().info().context_length : options_.context;
  scores_.assign(options_.report.size(), series::BacktestScores(options_.season));
}

StatusOr<Backtest> Backtest::Make(Session& session, BacktestOptions o) {
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
  return Backtest(session, std::move(o));
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

Status Backtest::Add(std::span<const double> y, bool (*cancelled)()) {
  const int64_t length = static_cast<int64_t>(y.size());
  std::vector<int64_t> origins;
  for (int64_t k = 0; k < WindowsOf(length); ++k) {
    origins.push_back(length - options_.horizon - k * options_.stride);
  }
  if (origins.empty()) {
    return absl::InvalidArgumentError(
        StrCat("the series has ", length, " steps; one window needs at least ", LeastLengthText()));
  }
  std::vector<std::span<const double>> contexts, inputs;
  const int64_t most = session_->model().info().context_length;
  for (const int64_t origin : origins) {
    const int64_t first = std::max<int64_t>(0, origin - seen_);
    contexts.push_back(y.subspan(static_cast<size_t>(first), static_cast<size_t>(origin - first)));
    inputs.push_back(contexts.back());
  }
  const ForecastRequest request{options_.horizon, std::min(seen_, most), series::Deciles()};
  PLINTH_ASSIGN_OR_RETURN(const auto forecasts, session_->Run(inputs, request, cancelled));
  const size_t levels = request.levels.size();
  for (size_t w = 0; w < origins.size(); ++w) {
    for (size_t r = 0; r < options_.report.size(); ++r) {
      const size_t steps = static_cast<size_t>(options_.report[r]);
      const auto truth = y.subspan(static_cast<size_t>(origins[w]), steps);
      const std::span<const double> values(forecasts[w].values.data(), steps * levels);
      scores_[r].Add(truth, {values, request.levels}, contexts[w]);
    }
  }
  ++series_;
  return absl::OkStatus();
}

}  // namespace plinth::engine
