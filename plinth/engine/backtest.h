// Evaluates a model on past origins of a series, beside the seasonal-naive method.
#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "plinth/engine/forecaster.h"
#include "plinth/engine/grouping.h"
#include "plinth/series/metrics.h"

namespace plinth::engine {

struct BacktestOptions {
  int64_t horizon = 0;
  int64_t windows = 1;          // origins per series
  int64_t stride = 0;           // steps between origins; 0: the horizon
  int64_t season = 1;           // steps
  int64_t context = 0;          // steps of history; 0: what the model takes. More than that still counts for
                                // the scale of MASE and for seasonal naive
  std::vector<int64_t> report;  // prefixes of the horizon that are scored; empty: the horizon alone
};

// Rolling origins from the end: origin k forecasts the `horizon` steps that begin k * stride steps before the
// last possible one. An origin needs more than one season of history (and two steps).
class Backtest {
 public:
  // Errors: InvalidArgument for options that make no sense. A session must outlive the backtest.
  static StatusOr<Backtest> Make(std::shared_ptr<Forecaster> forecaster, BacktestOptions options);
  static StatusOr<Backtest> Make(Session& session, BacktestOptions options) {
    return Make(std::make_shared<SessionForecaster>(session), std::move(options));
  }

  // How many of options().windows fit a series of `length` steps.
  int64_t WindowsOf(int64_t length) const;
  // Steps a series must have for one window, and why: "153 steps (one season of 12 and more, then ...)".
  int64_t least_length() const;
  std::string LeastLengthText() const;

  // Error: InvalidArgument where not even one window fits (says how long the series is and has to be).
  Status CheckLength(int64_t length) const;

  // Scores the targets of items that `maker` puts together as it was told. Origins are counted from the ends
  // of the items, which must mean the same time; a shorter item takes part in the origins that it reaches.
  // What is known ahead at an origin are the item's own rows there. Clears `maker`. Errors: those of
  // Session::Run.
  Status Add(std::span<const SeriesItem> unit, GroupMaker& maker, StopCheck cancelled = {});

  const BacktestOptions& options() const { return options_; }
  // One per entry of options().report, in that order.
  const std::vector<series::BacktestScores>& scores() const { return scores_; }
  int64_t series() const { return series_; }

 private:
  Backtest(std::shared_ptr<Forecaster> forecaster, BacktestOptions options);
  int64_t LeastContext() const { return std::max<int64_t>(options_.season + 1, 2); }
  void Score(std::span<const double> y, int64_t origin, const Forecast& forecast,
             const std::vector<double>& levels);
  std::shared_ptr<Forecaster> forecaster_;
  BacktestOptions options_;
  int64_t seen_ = 0;  // steps of history that scores and seasonal naive get
  std::vector<series::BacktestScores> scores_;
  int64_t series_ = 0;
};

}  // namespace plinth::engine
