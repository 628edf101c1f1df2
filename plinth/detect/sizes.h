// Chooses how long windows and forecasts are.
#pragma once

#include <cstdint>
#include <span>

#include "plinth/detect/column.h"
#include "plinth/detect/detect.h"

namespace plinth::detect {

struct Sizes {
  int64_t period = 0, window = 0, step = 0;
  double rate = 0;  // allowed events per row
};

// From the first `calibration` rows of the columns; `rows` are to be scored in all. `threads` runs columns
// side by side.
Sizes ChooseSizes(std::span<const Column> columns, int64_t calibration, int64_t rows, double rows_per_day,
                  const Options& options, engine::Forecaster& forecaster);

// Rows from which forecasts are made first: a few must lie before.
int64_t FirstForecast(int64_t calibration);

// The most windows that one is compared with, or the most rows to the farthest: half a minute of one core.
int64_t ProfileReach(int64_t window, int64_t rows, size_t columns);

}  // namespace plinth::detect
