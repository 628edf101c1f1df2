#include "plinth/detect/subspace.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "plinth/detect/symmetric_eigen.h"

namespace plinth::detect {
namespace {

constexpr double kExplained = 0.95;
constexpr int kTrims = 2;
constexpr double kTrimmed = 0.1;

}  // namespace

void Subspace::FitTo(std::span<const double> samples, std::span<const size_t> chosen) {
  const size_t d = mean_.size();
  std::fill(mean_.begin(), mean_.end(), 0.0);
  const double count = static_cast<double>(chosen.size());
  for (const size_t i : chosen) {
    for (size_t k = 0; k < d; ++k) mean_[k] += samples[i * d + k] / count;
  }
  std::vector<double> covariance(d * d), x(d);
  for (const size_t i : chosen) {
    for (size_t k = 0; k < d; ++k) x[k] = samples[i * d + k] - mean_[k];
    for (size_t k = 0; k < d; ++k) {
      for (size_t l = 0; l <= k; ++l) covariance[k * d + l] += x[k] * x[l];
    }
  }
  double total = 0;
  for (size_t k = 0; k < d; ++k) {
    for (size_t l = 0; l <= k; ++l) {
      covariance[l * d + k] = covariance[k * d + l] = covariance[k * d + l] / count;
    }
    total += covariance[k * d + k];
  }
  const Eigen eigen = SymmetricEigen(std::move(covariance), static_cast<int64_t>(d));
  const size_t most = std::min<size_t>(kMostDirections, std::max<size_t>(1, d / 2));
  double held = 0;
  variance_.clear();
  while (variance_.size() < most && held < kExplained * total && eigen.values[variance_.size()] > 0) {
    held += eigen.values[variance_.size()];
    variance_.push_back(eigen.values[variance_.size()]);
  }
  const size_t directions = variance_.size();
  loadings_.assign(eigen.vectors.begin(),
                   eigen.vectors.begin() + static_cast<std::ptrdiff_t>(directions * d));
  // A hundredth of the mean variance at least: what never varied in few samples may vary a little.
  const double mean_variance = total / static_cast<double>(d);
  const double rest = d > directions ? (total - held) / static_cast<double>(d - directions) : mean_variance;
  noise_ = std::max({rest, 0.01 * mean_variance, 1e-12});
  for (double& v : variance_) v = std::max(v, noise_);
}

Subspace Subspace::Fit(std::span<const double> samples, int64_t dimensions) {
  Subspace subspace;
  const size_t d = static_cast<size_t>(dimensions);
  subspace.mean_.assign(d, 0.0);
  std::vector<size_t> chosen(samples.size() / d);
  std::iota(chosen.begin(), chosen.end(), size_t{0});
  if (chosen.empty()) return subspace;
  subspace.FitTo(samples, chosen);
  const std::vector<size_t> all = chosen;
  std::vector<double> distance(all.size());
  for (int trim = 0; trim < kTrims; ++trim) {
    for (const size_t i : all) distance[i] = subspace.Distance(samples.subspan(i * d, d));
    chosen = all;
    std::stable_sort(chosen.begin(), chosen.end(),
                     [&](size_t a, size_t b) { return distance[a] < distance[b]; });
    chosen.resize(all.size() - static_cast<size_t>(kTrimmed * static_cast<double>(all.size())));
    std::sort(chosen.begin(), chosen.end());
    subspace.FitTo(samples, chosen);
  }
  return subspace;
}

double Subspace::Distance(std::span<const double> x, std::span<double> parts) const {
  const size_t d = mean_.size();
  double rest = 0, t2 = 0;
  if (parts.empty()) {
    double squares = 0;
    for (size_t k = 0; k < d; ++k) squares += (x[k] - mean_[k]) * (x[k] - mean_[k]);
    rest = squares;
    for (size_t i = 0; i < variance_.size(); ++i) {
      double score = 0;
      for (size_t k = 0; k < d; ++k) score += loadings_[i * d + k] * (x[k] - mean_[k]);
      t2 += score * score / variance_[i];
      rest -= score * score;
    }
    return (t2 + std::max(rest, 0.0) / noise_) / static_cast<double>(d);
  }
  std::vector<double> residual(d), leading(d, 0.0);
  for (size_t k = 0; k < d; ++k) residual[k] = x[k] - mean_[k];
  for (size_t i = 0; i < variance_.size(); ++i) {
    const double* loading = &loadings_[i * d];
    double score = 0;
    for (size_t k = 0; k < d; ++k) score += loading[k] * (x[k] - mean_[k]);
    t2 += score * score / variance_[i];
    for (size_t k = 0; k < d; ++k) {
      residual[k] -= score * loading[k];
      leading[k] += score / variance_[i] * loading[k] * (x[k] - mean_[k]);
    }
  }
  for (size_t k = 0; k < d; ++k) {
    const double error = residual[k] * residual[k] / noise_;
    rest += error;
    parts[k] = (std::max(leading[k], 0.0) + error) / static_cast<double>(d);
  }
  return (t2 + rest) / static_cast<double>(d);
}

}  // namespace plinth::detect
