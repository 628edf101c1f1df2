// A column of a series as scores look at it: measured in its own spread, gaps bridged.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plinth/detect/robust.h"

namespace plinth::detect {

struct Column {
  std::vector<double> value;  // as given; NaN in gaps (infinities are gaps too)
  std::vector<double> z;      // (value - middle) / scale, at most kMostZ away from 0; gaps by a straight line
  // z without spikes of one or two rows: a row that differs from the median of the five around it by more
  // than five times the usual step from row to row has that median. Shapes and levels are judged on it,
  // points on the values.
  std::vector<double> calm;
  std::vector<int32_t> gaps;  // gaps before each row: [rows + 1]
  Spread spread;              // of the rows that normal is learnt from
  int64_t rows() const { return static_cast<int64_t>(value.size()); }
  // Whether at most a quarter of the rows [begin, end) are gaps.
  bool Known(int64_t begin, int64_t end) const {
    return 4 * int64_t{gaps[static_cast<size_t>(end)] - gaps[static_cast<size_t>(begin)]} <= end - begin;
  }
};

// Spikes beyond so many spreads differ no more from each other; sums of products stay accurate.
inline constexpr double kMostZ = 1000;

// `learn`: the first so many rows say what normal is. Ends that are gaps continue the nearest value; a column
// without a value is 0 throughout.
Column MakeColumn(std::span<const double> values, int64_t learn);

// What the columns of a stream are measured in, learnt from rows of normal operation.
struct ColumnScale {
  Spread spread;
  double step = 1;  // the usual step from row to row, in spreads
};
ColumnScale LearnScale(std::span<const double> normal);

// A column as a stream sees it. A gap holds the last value for kMostHold rows and is then the middle. Whether
// a row is a spike the two behind it tell; so of what a stream has seen up to a row, `calm` counts but for
// the last two, which count as they are (z). Nothing depends on rows more than kStreamMemory before.
inline constexpr int64_t kMostHold = 64, kStreamMemory = kMostHold + 2, kStreamOpen = 2;
Column MakeStreamColumn(std::span<const double> values, const ColumnScale& scale);

// The period of the strongest cycle in a column's first `rows` rows, in rows: the highest peak of the
// autocorrelation, after a straight line is taken off, among lags from 4 to a third of the rows and at most
// `most`; 0 where no peak reaches 0.3 and stands 0.15 above the lowest correlation before it. Of a cycle's
// multiples the shortest within 0.9 of the highest wins.
int64_t PeriodOf(const Column& column, int64_t rows, int64_t most);

}  // namespace plinth::detect
