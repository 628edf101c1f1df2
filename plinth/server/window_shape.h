// Says how far the shape of a window of values is from those that a model was asked about first.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace plinth::server {

inline constexpr size_t kShapeFeatures = 6;
using Shape = std::array<double, kShapeFeatures>;

// Six numbers that neither unit nor level of the values changes, each brought near a normal distribution:
// autocorrelation at lag one (atanh), roughness (log of the ratio of deviations of second and first
// differences), skewness (asinh), kurtosis (log), largest deviation from the mean (log), correlation with
// time (atanh). nullopt for fewer than 32 values that are no gaps, and for constant ones. Linear time.
std::optional<Shape> ShapeOf(std::span<const double> values);

// Learns mean and covariance from the first windows, and gives the squared Mahalanobis distance of later
// ones.
class ShapeReference {
 public:
  static constexpr size_t kLearned = 128;  // windows
  // Beyond it a window is unlike those learned: 36 has a chance of 3e-6 under a normal distribution of six
  // dimensions (chi-squared), and what was learned may itself have heavier tails, so it is at least 1.5 times
  // the largest distance among the windows learned.
  double limit() const { return limit_; }
  bool ready() const { return ready_; }
  size_t learned() const { return ready_ ? kLearned : windows_.size(); }

  // Does nothing once it is ready.
  void Learn(const Shape& shape);
  // 0 until it is ready.
  double Distance(const Shape& shape) const;

 private:
  void Finish();
  std::vector<Shape> windows_;
  bool ready_ = false;
  Shape mean_{};
  std::array<std::array<double, kShapeFeatures>, kShapeFeatures> factor_{};  // Cholesky, lower
  double limit_ = 0;
};

}  // namespace plinth::server
