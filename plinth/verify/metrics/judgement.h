// Judges each metric of a task: its values on both sides, the interval of their difference, the band.
#pragma once

#include <vector>

#include "plinth/verify/metrics/bands.h"
#include "plinth/verify/metrics/task.h"

namespace plinth::verify::metrics {

// Rows in the order of the task's metrics, then of its joint ones. Intervals, all of 95 %:
//   outcomes of 0 and 1    score intervals: Tango's for two sides, Wilson's between them
//   means and ratios       paired bootstrap over samples with expanded percentiles; from kBootstrapSamples
//                          samples on Student's t on the linearised ratio, which then says the same
//   joint metrics          paired bootstrap, fewer resamples where one is long
// A metric with a band fails where the candidate is worse beyond it, is warned where the interval reaches
// beyond it or the candidate is better beyond it, and passes otherwise; without a band it is unproven.
// Errors: InvalidArgument for a band of an unknown metric, and for a relative one of a metric whose reference
// is 0; Cancelled.
StatusOr<std::vector<MetricRow>> JudgeMetrics(const Task& task, int64_t samples, const Bands& bands,
                                              const MetricsOptions& options);

inline constexpr int64_t kBootstrapSamples = 20'000;

// Sets status, reason and samples_needed from the row's values, interval and band.
void JudgeRow(MetricRow* row);

}  // namespace plinth::verify::metrics
