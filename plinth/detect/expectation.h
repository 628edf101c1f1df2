// What a model expects in each row, from the rows before it or from both sides, and how far the rows are off.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plinth/base/interrupt.h"
#include "plinth/detect/column.h"
#include "plinth/engine/forecaster.h"

namespace plinth::detect {

// Of one column, by row; NaN where no forecast reaches.
struct Expectation {
  std::vector<double> middle, lower, upper;  // first the model's quantiles 0.5, 0.1 and 0.9
  std::vector<double> off;                   // distance from the middle in half bands; NaN in gaps too
};

struct ForecastPlan {
  int64_t context = 0;  // steps a forecast looks back at most; 0: all the model takes
  int64_t step = 1;     // rows that one forecast covers, at most the model's horizon
  int64_t first = 1;    // the first row that is forecast; at least 1
};

// Rolling origins: rows first + k * step ... are forecast from the rows before the first of them, in which
// spikes (column.h) count as gaps. Errors: those of Session::Run.
StatusOr<std::vector<Expectation>> ForecastRows(engine::Forecaster& forecaster,
                                                std::span<const Column> columns, const ForecastPlan& plan,
                                                StopCheck cancelled);

// Reconstruction by masking: each segment of `step` rows is hidden and filled in from what lies before it
// and, on the reversed series, from what lies behind it. The two are averaged with weights one over the
// square of their bands' widths, and the band is that of such an average; a segment with one side only has
// that side's. Models that forecast can do this as they are; nothing of a segment is ever part of what
// explains it.
StatusOr<std::vector<Expectation>> FillRows(engine::Forecaster& forecaster, std::span<const Column> columns,
                                            const ForecastPlan& plan, StopCheck cancelled);

// How a column's bands are made of the model's.
struct Band {
  double floor = 0;   // the least half band before it is stretched
  double factor = 1;  // by which it is then
};

// Computes `off`, and widens or narrows the bands on each side so that `coverage` of the rows [0,
// calibration) lie inside: split conformal prediction with the model's band as the scale (Papadopoulos et al.
// 2002). Half bands are at least a twentieth of the column's spread and a quarter of the median error in
// these rows.
Band Calibrate(const Column& column, int64_t calibration, double coverage, Expectation& expectation);
// The same for other rows, with bands as they were learnt.
void Apply(const Column& column, const Band& band, Expectation& expectation);

}  // namespace plinth::detect
