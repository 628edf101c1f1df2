// Measures anomaly scores and alarms against labelled ranges.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plinth/base/status.h"

namespace plinth::detect {

// The volume under the surface of range-aware precision over recall, for buffers from 0 to `buffer` rows
// (VUS-PR; Paparrizos et al., PVLDB 15(11), 2022), in [0, 1]. For a buffer l a row at distance d <= l / 2
// from the nearest anomalous row weighs sqrt(1 - d / l), where the buffers of two anomalies overlap the sum,
// at most 1; anomalous rows weigh 1. With TP the weight of the rows predicted, P the mean of the number of
// anomalous rows and of all weight, and ER the share of anomalies of which a row with weight is predicted:
//   precision = TP / rows predicted,  recall = min(1, TP / P) * ER.
// Predicted are the rows whose score reaches a threshold; every distinct score is one (the original samples
// 250). Trapezoids over thresholds, from recall 0 and precision 1 where nothing is predicted, and over
// buffers; the volume is divided by `buffer` (0: the area for that one buffer). A row without a score (NaN)
// comes last. Errors: InvalidArgument: lengths differ, no row is anomalous, a negative buffer. O(rows *
// buffer).
StatusOr<double> VusPr(std::span<const double> scores, std::span<const uint8_t> labels, int64_t buffer);

// Alarms against labelled ranges, as operators count.
struct EventCounts {
  int64_t alarms = 0, true_alarms = 0;  // true: they touch an anomaly
  int64_t anomalies = 0, found = 0;     // found: an alarm touches them
  double mean_delay = 0;  // rows from an anomaly's first row to its first alarmed one, of those found
  double precision() const { return static_cast<double>(true_alarms) / static_cast<double>(alarms); }
  double recall() const { return static_cast<double>(found) / static_cast<double>(anomalies); }
  int64_t false_alarms() const { return alarms - true_alarms; }
};

// Alarms are rows with scores at or above `threshold`, joined where they lie at most `gap` rows apart
// (tail.h). Both spans have one length.
EventCounts CountEvents(std::span<const double> scores, std::span<const uint8_t> labels, double threshold,
                        int64_t gap);

}  // namespace plinth::detect
