// Runs the scores of a detection one after another and joins them.
#pragma once

#include "plinth/base/interrupt.h"
#include "plinth/detect/detect.h"

namespace plinth::detect {

// Rows of the longest column.
int64_t RowsOf(const Series& series);

// Errors: those of Detect that its arguments give.
Status CheckDetection(const Series& series, const Options& options);

// Detect for a series and options that were checked.
StatusOr<Detection> RunScores(engine::Forecaster& forecaster, const Series& series, const Options& options,
                              StopCheck cancelled);

}  // namespace plinth::detect
