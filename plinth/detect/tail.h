// Turns raw scores into surprise, the negative logarithm of a tail probability, and finds the threshold that
// keeps false alarms at an allowed rate.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace plinth::detect {

// The distribution of positive numbers above their 0.9 quantile: a generalised Pareto distribution beyond
// `start` (peaks over threshold; Balkema and de Haan 1974, Pickands 1975). Shape and scale come from the
// median and the upper quartile of the excesses (Castillo and Hadi 1997), so that up to a quarter of
// them, 2.5 % of all values, may be anomalies without harm. The shape is kept in [0, 0.25].
struct Tail {
  double start = 0;
  double scale = 1;
  double shape = 0;
  // Probability that an excess is larger than value - start.
  double Survival(double value) const;
  // The value whose Survival is p, 0 < p <= 1.
  double Value(double p) const;
};

// Of excesses over `start`, all positive; `floor` is the least scale.
Tail FitTail(std::span<const double> excesses, double start, double floor);

// Surprise of a score: -log10 of the probability that a score of the calibration part is at least as large.
// Below the 0.9 quantile of the calibration part it is empirical, above it the tail's.
class Surprise {
 public:
  static constexpr double kMost = 30;  // surprises end here
  Surprise() = default;                // everything has surprise 0
  // NaN in `calibration` counts nowhere. Without any value, everything has surprise 0.
  explicit Surprise(std::span<const double> calibration);
  // NaN stays NaN.
  double Of(double score) const;

 private:
  std::vector<double> body_;  // knots of the empirical part: quantiles 0, 1/64, ... up to 0.9
  Tail tail_;
  bool empty_ = true;
};

// Exceedances that lie at most `gap` rows apart are one event.
struct Event {
  int64_t begin = 0, end = 0;  // rows [begin, end)
  double peak = 0;
  int64_t peak_row = 0;
};
std::vector<Event> EventsAbove(std::span<const double> scores, double threshold, int64_t gap);

// The threshold that `scores` of normal operation exceed in at most `rate` events per row: the rate at which
// their events exceed the 0.9 quantile, times the tail of the events' peaks (declustered peaks over
// threshold; Coles 2001, chapter 5). NaN counts nowhere. Where there are fewer than eight events, their peaks
// are not enough for a tail and the single rows over the quantile stand in.
double EventThreshold(std::span<const double> scores, double rate, int64_t gap);

}  // namespace plinth::detect
