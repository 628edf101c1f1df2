#include "plinth/verify/metrics/task.h"

#include <algorithm>
#include <cmath>

namespace plinth::verify::metrics {
namespace {

void SetAt(std::vector<double>& column, size_t i, double value, double fill) {
  if (column.size() <= i) column.resize(i + 1, fill);
  column[i] = value;
}

}  // namespace

void SampleMetric::Set(size_t i, double reference_value, double candidate_value) {
  if (!between) SetAt(reference, i, reference_value, 0);
  SetAt(candidate, i, candidate_value, 0);
}

void SampleMetric::Set(size_t i, double reference_value, double candidate_value, double sample_weight) {
  Set(i, reference_value, candidate_value);
  SetAt(weight, i, sample_weight, 0);
}

double SampleMetric::Value(bool of_candidate, std::span<const uint32_t> counts) const {
  if (fold != Fold::kMean) {
    double most = std::numeric_limits<double>::quiet_NaN();
    for (size_t i = 0; i < candidate.size(); ++i) {
      if (Weight(i) == 0 || (!counts.empty() && counts[i] == 0)) continue;
      const double value = of_candidate ? candidate[i] : Reference(i);
      if (std::isnan(most) || (fold == Fold::kMax ? value > most : value < most)) most = value;
    }
    return most;
  }
  // Compensated (Neumaier 1974): the difference of two means must not drown in a million roundings.
  double sum = 0, lost = 0, weights = 0;
  for (size_t i = 0; i < candidate.size(); ++i) {
    const double times = counts.empty() ? 1 : counts[i];
    if (times == 0) continue;
    const double value = (of_candidate ? candidate[i] : Reference(i)) * times;
    const double next = sum + value;
    lost += std::abs(sum) >= std::abs(value) ? (sum - next) + value : (value - next) + sum;
    sum = next;
    weights += Weight(i) * times;
  }
  if (weights == 0) return sum_without_weights ? sum + lost : std::numeric_limits<double>::quiet_NaN();
  return (sum + lost) / weights;
}

size_t Task::Mean(std::string name, Better better) {
  metrics.push_back({.name = std::move(name), .better = better});
  return metrics.size() - 1;
}

size_t Task::Between(std::string name, Better better, double ideal, SampleMetric::Fold fold) {
  metrics.push_back(
      {.name = std::move(name), .better = better, .fold = fold, .between = true, .ideal = ideal});
  return metrics.size() - 1;
}

StatusOr<std::vector<int64_t>> SortedKs(const MetricsOptions& options) {
  std::vector<int64_t> ks = options.ks.empty() ? std::vector<int64_t>{1, 5, 10} : options.ks;
  std::sort(ks.begin(), ks.end());
  ks.erase(std::unique(ks.begin(), ks.end()), ks.end());
  if (ks.front() < 1)
    return absl::InvalidArgumentError(StrCat("--k ", ks.front(), ": at least 1 is expected"));
  return ks;
}

}  // namespace plinth::verify::metrics
