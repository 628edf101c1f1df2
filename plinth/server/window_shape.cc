#include "plinth/server/window_shape.h"

#include <algorithm>
#include <cmath>

namespace plinth::server {
namespace {

constexpr size_t kLeastValues = 32;
constexpr double kFloor = 36;    // of the limit
constexpr double kBeyond = 1.5;  // times the largest that was learned

// A covariance that stands for so many windows: without it windows of one quiet series would make every other
// one look strange. Of the order of what features of unlike series differ by.
constexpr double kPriorVariance = 0.25, kPriorWindows = 32;

// Away from the ends, where atanh is infinite.
double Open(double correlation) { return std::atanh(0.999 * std::clamp(correlation, -1.0, 1.0)); }

double Safe(double value) { return std::log(std::max(value, 1e-6)); }

}  // namespace

std::optional<Shape> ShapeOf(std::span<const double> values) {
  double count = 0, mean = 0, time = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i])) continue;
    ++count;
    mean += (values[i] - mean) / count;
    time += (static_cast<double>(i) - time) / count;
  }
  if (count < static_cast<double>(kLeastValues)) return std::nullopt;
  double square = 0, cube = 0, fourth = 0, largest = 0, with_time = 0, time_square = 0;
  double lag = 0, pairs = 0, first = 0, second = 0, thirds = 0;
  double before = NAN, step_before = NAN;
  for (size_t i = 0; i < values.size(); ++i) {
    const double d = values[i] - mean, t = static_cast<double>(i) - time;
    if (!std::isfinite(d)) {
      before = step_before = NAN;
      continue;
    }
    square += d * d, cube += d * d * d, fourth += d * d * d * d;
    largest = std::max(largest, std::fabs(d));
    with_time += d * t, time_square += t * t;
    const double step = d - before;
    if (!std::isnan(step)) {
      lag += d * before, first += step * step, ++pairs;
      const double bend = step - step_before;
      if (!std::isnan(bend)) second += bend * bend, ++thirds;
    }
    before = d, step_before = step;
  }
  const double variance = square / count, deviation = std::sqrt(variance);
  if (!(variance > 0) || !std::isfinite(fourth) || !(first > 0) || pairs < 8 || thirds < 8)
    return std::nullopt;
  return Shape{Open(lag / pairs / variance),
               0.5 * Safe(second / thirds / (first / pairs)),
               std::asinh(cube / count / (variance * deviation)),
               Safe(fourth / count / (variance * variance)),
               Safe(largest / deviation),
               Open(with_time / std::sqrt(square * time_square))};
}

void ShapeReference::Learn(const Shape& shape) {
  if (ready_) return;
  windows_.push_back(shape);
  if (windows_.size() == kLearned) Finish();
}

void ShapeReference::Finish() {
  const double count = static_cast<double>(windows_.size());
  for (const Shape& w : windows_) {
    for (size_t i = 0; i < kShapeFeatures; ++i) mean_[i] += w[i] / count;
  }
  auto& l = factor_;
  for (const Shape& w : windows_) {
    for (size_t i = 0; i < kShapeFeatures; ++i) {
      for (size_t j = 0; j <= i; ++j) l[i][j] += (w[i] - mean_[i]) * (w[j] - mean_[j]);
    }
  }
  for (size_t i = 0; i < kShapeFeatures; ++i) {
    l[i][i] += kPriorVariance * kPriorWindows;
    for (size_t j = 0; j <= i; ++j) l[i][j] /= count + kPriorWindows;
  }
  // In place; the prior keeps every pivot above zero.
  for (size_t i = 0; i < kShapeFeatures; ++i) {
    for (size_t j = 0; j <= i; ++j) {
      double sum = l[i][j];
      for (size_t k = 0; k < j; ++k) sum -= l[i][k] * l[j][k];
      l[i][j] = i == j ? std::sqrt(sum) : sum / l[j][j];
    }
  }
  ready_ = true;
  limit_ = kFloor;
  for (const Shape& w : windows_) limit_ = std::max(limit_, kBeyond * Distance(w));
  windows_.clear();
  windows_.shrink_to_fit();
}

double ShapeReference::Distance(const Shape& shape) const {
  if (!ready_) return 0;
  Shape y;
  double sum = 0;
  for (size_t i = 0; i < kShapeFeatures; ++i) {
    y[i] = shape[i] - mean_[i];
    for (size_t k = 0; k < i; ++k) y[i] -= factor_[i][k] * y[k];
    y[i] /= factor_[i][i];
    sum += y[i] * y[i];
  }
  return sum;
}

}  // namespace plinth::server
