#include "plinth/verify/metrics/ranked_scores.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace plinth::verify::metrics {

RankedScores::RankedScores(std::span<const double> scores, const std::vector<bool>& positive)
    : order_(scores.size()), last_(scores.size()), positive_(scores.size()) {
  std::iota(order_.begin(), order_.end(), 0u);
  std::stable_sort(order_.begin(), order_.end(),
                   [&](uint32_t a, uint32_t b) { return scores[a] > scores[b]; });
  for (size_t i = 0; i < order_.size(); ++i) {
    last_[i] = i + 1 == order_.size() || scores[order_[i + 1]] != scores[order_[i]];
    positive_[i] = positive[order_[i]];
  }
}

RankedScores::Areas RankedScores::Evaluate(std::span<const uint32_t> counts) const {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  // Whole numbers, exact in double; areas are divided once, at the end.
  double positives = 0, negatives = 0, before = 0, area = 0, precision_sum = 0, group_positive = 0,
         group_negative = 0;
  for (size_t i = 0; i < order_.size(); ++i) {
    const double times = counts.empty() ? 1 : counts[order_[i]];
    (positive_[i] ? group_positive : group_negative) += times;
    if (!last_[i]) continue;
    positives += group_positive;
    negatives += group_negative;
    area += group_negative * (before + group_positive / 2);
    if (group_positive > 0) precision_sum += group_positive * (positives / (positives + negatives));
    before = positives;
    group_positive = group_negative = 0;
  }
  return {positives > 0 && negatives > 0 ? area / (positives * negatives) : nan,
          positives > 0 ? precision_sum / positives : nan};
}

}  // namespace plinth::verify::metrics
