// Holds what charts and reports show of one series: its history, its forecast and ready-made time texts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace plinth {

// Positions on the time axis: ms[i] is milliseconds since the epoch (the row number where a file has no
// times), text[i] is the same instant as the reader should see it. Both have one entry per value; ms never
// decreases.
struct TimePoints {
  std::vector<int64_t> ms;
  std::vector<std::string> text;
};

struct QuantileLine {
  double level = 0.5;          // in (0, 1)
  std::vector<double> values;  // one per forecast step
};

// Names and texts are taken as hostile: every writer escapes them for its own medium. A value that is not
// finite is a gap.
struct SeriesView {
  std::string item;    // may be empty: the file holds one item
  std::string target;  // the column's name

  TimePoints history_time;
  std::vector<double> history;  // one per history_time
  int64_t earlier = 0;          // values of the series before `history`, which are not in it

  TimePoints forecast_time;
  std::vector<QuantileLine> quantiles;  // ascending levels; may be empty
  std::vector<double> mean;             // one per forecast step, or empty
  std::vector<double> actual;           // what happened later (backtests), one per forecast step, or empty

  bool numbered = false;      // the axis counts rows and has no times
  int64_t utc_offset_ms = 0;  // what the axis adds to ms so that its labels agree with the texts
};

// "item · target", or the one that is not empty.
std::string SeriesTitle(const SeriesView& series);

// The values of the quantile `level` over the forecast steps, interpolated linearly between the two
// neighbouring levels; empty where the level lies outside the given ones or there are none. Levels closer
// than 1e-6 are one level, so that 0.1 given as float or as double is the same.
std::vector<double> QuantileAt(const SeriesView& series, double level);

// The sentence that says what is inconsistent (lengths, order, levels), or empty when all is well.
std::string Inconsistency(const SeriesView& series);

}  // namespace plinth
