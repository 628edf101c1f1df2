// Scores forecasts against the truth, and makes the seasonal-naive forecast that they must beat.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace plinth::series {

// Gaps (NaN or infinite): a step whose truth is a gap counts nowhere. Undefined scores are NaN.

// A forecast of `horizon` steps: value[step * levels + i] at the i-th level.
struct QuantileForecast {
  std::span<const double> values;  // [horizon, levels]
  std::span<const double> levels;  // normalised (quantiles.h): ascending, 0.5 among them
};

// The scores of one window, or their means over windows.
struct Scores {
  double mase = 0, wql = 0, mae = 0, rmse = 0, coverage_80 = 0;
};

// Scores one window. truth: [horizon]; context: what the model saw, for the scale of MASE.
//   mae   mean |y - median|
//   rmse  root of the mean (y - median)^2
//   mase  mae / max(mean |c[t] - c[t - season]|, 1e-12) over the observed context c, gaps left out and the
//         rest closed up (Hyndman and Koehler 2006); NaN where it has no more than `season` values, and where
//         all its differences are 0: a flat context gives an error no scale
//   wql   2 * mean over steps and levels of max(q e, (q - 1) e), e = y - value, / max(mean |y|, 1e-12);
//         NaN where every y is 0
//   coverage_80  share of the truth from the level 0.1 to the level 0.9, both included; NaN without these
// NaN throughout where the truth is all gaps; a NaN in the forecast makes the scores that use it NaN.
Scores ScoreWindow(std::span<const double> truth, const QuantileForecast& forecast,
                   std::span<const double> context, int64_t season);

// The last season of the observed context (gaps left out), repeated; around it at step h a normal
// distribution with standard deviation s * sqrt(h / season + 1), whole seasons, where s is the population
// deviation of c[t] - c[t - season] (0 where there are no more than `season` values). A context
// shorter than a season is repeated whole; one without any value gives NaN.
// Result: [horizon, levels]. season at least 1.
std::vector<double> SeasonalNaive(std::span<const double> context, int64_t horizon, int64_t season,
                                  std::span<const double> levels);

// The p-quantile of the standard normal distribution, 0 < p < 1, relative error below 1e-15.
// Method: Wichura 1988, algorithm AS 241 (PPND16).
double NormalQuantile(double p);

// Means of windows' scores. A score that is NaN in a window is left out of that score's mean; NaN
// where it is NaN in all.
class MeanScores {
 public:
  void Add(const Scores& window);
  Scores mean() const;
  int64_t windows() const { return windows_; }

 private:
  static constexpr int kScores = 5;
  double sum_[kScores] = {};
  int64_t count_[kScores] = {};
  int64_t windows_ = 0;
};

// A rolling-origin evaluation beside the seasonal-naive method.
class BacktestScores {
 public:
  explicit BacktestScores(int64_t season) : season_(season) {}

  // Scores the forecast, and the seasonal-naive one at the same levels, on one window.
  void Add(std::span<const double> truth, const QuantileForecast& forecast, std::span<const double> context);

  int64_t windows() const { return model_.windows(); }
  // Windows with a MAE whose context has no seasonal difference other than 0.
  int64_t windows_without_mase() const { return without_mase_; }
  // Windows with a MAE whose truth is 0 throughout.
  int64_t windows_without_wql() const { return without_wql_; }
  Scores model() const { return model_.mean(); }
  Scores seasonal_naive() const { return naive_.mean(); }
  // The model's mean divided by seasonal naive's; below 1 is better. NaN where either is, and for 0 / 0.
  double relative_mase() const { return model().mase / seasonal_naive().mase; }
  double relative_wql() const { return model().wql / seasonal_naive().wql; }

 private:
  int64_t season_;
  MeanScores model_, naive_;
  int64_t without_mase_ = 0, without_wql_ = 0;
};

}  // namespace plinth::series
