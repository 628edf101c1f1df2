// Scores of a yes-or-no question, sorted once, from which ROC AUC and average precision follow for any
// counts.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace plinth::verify::metrics {

class RankedScores {
 public:
  // scores, positive: one per sample, finite.
  RankedScores(std::span<const double> scores, const std::vector<bool>& positive);

  struct Areas {
    double roc_auc = 0, average_precision = 0;
  };
  // Each sample counted counts[i] times (empty: once).
  //   roc_auc             P(score of a positive > of a negative) + P(equal) / 2, the trapezoidal area (Hanley
  //                       and McNeil 1982); NaN without both kinds
  //   average_precision   sum over thresholds of (R[n] - R[n-1]) * P[n]; equal scores share a threshold; NaN
  //                       without positives
  Areas Evaluate(std::span<const uint32_t> counts) const;

 private:
  std::vector<uint32_t> order_;  // samples by falling score
  std::vector<bool> last_;       // of those with the same score
  std::vector<bool> positive_;   // in this order
};

}  // namespace plinth::verify::metrics
