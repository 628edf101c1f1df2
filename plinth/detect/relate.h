// Finds which columns lead which others, and by how many rows, beyond what their own pasts explain.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "plinth/base/interrupt.h"
#include "plinth/base/status.h"
#include "plinth/base/threads.h"
#include "plinth/detect/column.h"

namespace plinth::detect {

struct RelateOptions {
  int64_t most_lag = 48;  // rows; never more than an eighth of the rows
  double level = 0.05;    // expected share of false relations among those found; on unrelated columns the
                          // probability of finding any
};

// `follower` at row t goes with `leader` at row t - lag. With lag 0 neither leads; leader is the earlier
// column.
struct Relation {
  int64_t leader = 0, follower = 0, lag = 0;
  double correlation = 0;  // of what is left of both columns, on normal scores
  double p_value = 1;      // corrected for all lags, pairs and directions
};

struct Relations {
  std::vector<Relation> found;  // most significant first
  int64_t tested = 0;           // hypotheses: each pair in both directions and at lag 0
  int64_t rows = 0;             // that were looked at: the last kMostRelatedRows at most
  int64_t most_lag = 0;
  std::vector<int64_t> silent;  // columns that are constant, or too regular or short to say anything
};

inline constexpr int64_t kMostRelatedRows = 16384;
inline constexpr int64_t kLeastRelatedRows = 64;

// Prewhitened cross-correlation (Haugh 1976; Box, Jenkins and Reinsel, chapter 12): from each column its
// cycle's profile (medians by phase) and an autoregression (Levinson and Durbin, at most 32 terms, by AIC)
// are taken off; what is left becomes normal scores, so that no spike decides. A correlation is measured in
// the larger of its standard error under independence and the spread of the same correlation at lags beyond
// those of interest, which is what shifting one column along the other would give; so dependence in time that
// the autoregression missed does not count as a relation. Of each pair, the best lag of each direction
// (Sidak's correction over lags) and lag 0 are tested; p-values are corrected over all by Benjamini and
// Hochberg (1995). A relation by way of a third column is found too. Columns of one length. With fewer than
// kLeastRelatedRows rows nothing is tested. The same bits for any number of threads; O(columns^2 * rows *
// log(rows)). `cancelled` (optional) is polled. Error: Cancelled.
StatusOr<Relations> Relate(std::span<const Column> columns, const RelateOptions& options, Threads& threads,
                           StopCheck cancelled = {});

// The same for plain values, with the checks that Detect makes. Errors: InvalidArgument: no two columns, too
// many, too few rows, a level outside (0, 1), a negative lag.
StatusOr<Relations> Relate(std::span<const std::span<const double>> columns, const RelateOptions& options,
                           Threads& threads, StopCheck cancelled = {});

}  // namespace plinth::detect
