// Turns rows with time stamps into values on a regular grid, and says clearly why where that cannot be.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "plinth/base/status.h"
#include "plinth/series/frequency.h"
#include "plinth/series/timestamp.h"

namespace plinth::series {

// The stamps of one series in file order. Messages call rows by `lines` of the file, or 1, 2, 3 ... where
// that is empty.
struct TimeColumn {
  std::span<const Timestamp> times;
  const TimeStyle* style = nullptr;
  std::span<const int64_t> lines = {};
};

struct Inference {
  Frequency frequency;
  int64_t missing = 0;  // grid times without a row
  std::string note;     // one sentence worth showing to the user, or empty
};

// Finds the rule that the stamps follow:
//  - the same day of each month (or its last day), at least 28 days apart: months, quarters, years;
//  - Monday to Friday at the same hour, with a weekend left out: business days;
//  - else the most common step, or the smallest if not all steps are multiples of the former.
// Larger steps than the base step are missing rows (gaps), as long as the base step makes up at least a third
// of all steps. Two rows are enough: their distance is the step.
// Stamps with offsets are compared in absolute time, so clock changes do not matter.
// Errors: InvalidArgument: fewer than two rows, equal or falling stamps, no rule, each with the rows, what
// was found and what to do; in local time without offset a misfit of one hour says that it looks like the
// night of a clock change.
StatusOr<Inference> InferFrequency(const TimeColumn& column);

// Where rows lie on a grid: row i at index positions[i], rising. Index k is the time Advance(origin,
// frequency, k), also beyond the last row. origin carries the offset of the last row, so that
// future times are written with the newest one.
struct Grid {
  Timestamp origin;
  Frequency frequency;  // month_day resolved
  int64_t length = 0;   // from the first row to the last; length - rows are gaps
  std::vector<int64_t> positions;
};

// Errors: InvalidArgument: no rows; equal or falling stamps; a stamp off the grid, with the nearest grid
// time; a grid that is more than 1000 times as long as the rows (and a million longer).
StatusOr<Grid> PlaceOnGrid(const TimeColumn& column, const Frequency& frequency);

// Values in file order [rows] -> on the grid [length], NaN in gaps.
std::vector<double> OnGrid(const Grid& grid, std::span<const double> values);

// Checks once what both functions above check: stamps rise. Errors as there.
Status CheckRising(const TimeColumn& column);

}  // namespace plinth::series
