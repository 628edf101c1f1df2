// What is normal for vectors: a mean, the directions in which they vary, and noise in all others.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace plinth::detect {

// Probabilistic principal components (Tipping and Bishop 1999): the leading directions that hold 0.95 of the
// variance (at most kMostDirections and half of the dimensions) keep their own variances, all others share
// the mean of what is left. The distance of a vector is then Hotelling's T2 in the leading directions plus
// the squared prediction error (SPE) over the noise: a Mahalanobis distance whose covariance is always
// regular.
class Subspace {
 public:
  static constexpr int64_t kMostDirections = 16;

  // samples: [count][dimensions], finite. Twice, the tenth of the samples that lies farthest away is left out
  // and the rest fitted again, so that anomalies among the samples shape nothing. Without samples: mean 0,
  // variance 1.
  static Subspace Fit(std::span<const double> samples, int64_t dimensions);

  int64_t dimensions() const { return static_cast<int64_t>(mean_.size()); }
  int64_t directions() const { return static_cast<int64_t>(variance_.size()); }

  // T2 + SPE / noise, divided by the dimensions: about 1 for normal vectors. `parts` (empty, or one per
  // dimension) gets each dimension's contribution: of T2 the complete decomposition of Nomikos and MacGregor
  // (sum over directions of score / variance * loading * value, negative ones 0), of SPE the squared
  // residual.
  double Distance(std::span<const double> x, std::span<double> parts = {}) const;

 private:
  void FitTo(std::span<const double> samples, std::span<const size_t> chosen);
  std::vector<double> mean_;
  std::vector<double> loadings_;  // [directions][dimensions]
  std::vector<double> variance_;  // [directions]
  double noise_ = 1;              // variance in each other direction
};

}  // namespace plinth::detect
