#include "plinth/detect/tail.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "plinth/detect/robust.h"

namespace plinth::detect {
namespace {

constexpr double kBody = 0.9;  // quantile where the tail begins
constexpr int kKnots = 64;
constexpr double kLargestShape = 0.25;
constexpr size_t kLeastPeaks = 8;

}  // namespace

double Tail::Survival(double value) const {
  const double x = std::max(0.0, (value - start) / scale);
  return shape < 1e-9 ? std::exp(-x) : std::pow(1 + shape * x, -1 / shape);
}

double Tail::Value(double p) const {
  const double x = shape < 1e-9 ? -std::log(p) : (std::pow(p, -shape) - 1) / shape;
  return start + scale * x;
}

Tail FitTail(std::span<const double> excesses, double start, double floor) {
  Tail tail{start, floor, 0};
  if (excesses.empty()) return tail;
  const double half = Median(excesses), upper = Quantile(excesses, 0.75);
  if (!(half > 0)) return tail;
  // For survivals 1/2 and 1/4 a generalised Pareto distribution has upper / half = 2^shape + 1.
  tail.shape = std::clamp(std::log2(std::max(upper / half - 1, 1.0)), 0.0, kLargestShape);
  const double unit = tail.shape < 1e-9 ? std::log(2.0) : (std::exp2(tail.shape) - 1) / tail.shape;
  tail.scale = std::max(half / unit, floor);
  return tail;
}

Surprise::Surprise(std::span<const double> calibration) {
  std::vector<double> sorted;
  for (const double v : calibration) {
    if (std::isfinite(v)) sorted.push_back(v);
  }
  if (sorted.empty()) return;
  empty_ = false;
  std::sort(sorted.begin(), sorted.end());
  for (int k = 0; k <= kKnots; ++k) {
    const double rank = kBody * k / kKnots * static_cast<double>(sorted.size() - 1);
    const size_t below = static_cast<size_t>(rank);
    const double next = sorted[std::min(below + 1, sorted.size() - 1)];
    body_.push_back(sorted[below] + (rank - static_cast<double>(below)) * (next - sorted[below]));
  }
  const double start = body_.back();
  std::vector<double> excesses;
  for (const double v : sorted) {
    if (v > start) excesses.push_back(v - start);
  }
  // A hundredth of what the body spans: scores that never vary have some width too.
  const double floor = std::max({0.01 * (start - body_.front()), 1e-6 * std::fabs(start), 1e-12});
  tail_ = FitTail(excesses, start, floor);
}

double Surprise::Of(double score) const {
  if (std::isnan(score)) return score;
  if (empty_) return 0;
  if (score >= tail_.start) {
    const double p = (1 - kBody) * tail_.Survival(score);
    return p > 0 ? std::min(kMost, -std::log10(p)) : kMost;
  }
  if (score <= body_.front()) return 0;
  const auto above = std::upper_bound(body_.begin(), body_.end(), score);
  const size_t k = static_cast<size_t>(above - body_.begin()) - 1;
  const double part = (score - body_[k]) / (body_[k + 1] - body_[k]);
  return -std::log10(1 - kBody * (static_cast<double>(k) + part) / kKnots);
}

std::vector<Event> EventsAbove(std::span<const double> scores, double threshold, int64_t gap) {
  std::vector<Event> events;
  for (size_t i = 0; i < scores.size(); ++i) {
    if (!(scores[i] >= threshold)) continue;
    const int64_t row = static_cast<int64_t>(i);
    if (events.empty() || row - events.back().end >= gap) events.push_back({row, row, scores[i], row});
    Event& event = events.back();
    event.end = row + 1;
    if (scores[i] > event.peak) event.peak = scores[i], event.peak_row = row;
  }
  return events;
}

double EventThreshold(std::span<const double> scores, double rate, int64_t gap) {
  std::vector<double> known;
  for (const double v : scores) {
    if (std::isfinite(v)) known.push_back(v);
  }
  if (known.empty()) return std::numeric_limits<double>::infinity();
  const double start = Quantile(known, kBody);
  std::vector<double> peaks;
  for (const Event& event : EventsAbove(scores, start, gap)) {
    if (event.peak > start) peaks.push_back(event.peak - start);
  }
  if (peaks.size() < kLeastPeaks) {
    peaks.clear();
    for (const double v : known) {
      if (v > start) peaks.push_back(v - start);
    }
  }
  const double floor = std::max({0.01 * (start - Quantile(known, 0)), 1e-6 * std::fabs(start), 1e-12});
  const Tail tail = FitTail(peaks, start, floor);
  const double events = std::max(1.0, static_cast<double>(peaks.size())) / static_cast<double>(known.size());
  return rate >= events ? start : tail.Value(rate / events);
}

}  // namespace plinth::detect
