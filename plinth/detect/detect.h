// Finds anomalies in a series: what a model and the series' own habits did not expect, row by row, and the
// alarms that follow.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plinth/base/interrupt.h"
#include "plinth/engine/forecaster.h"

namespace plinth::detect {

// The ways to look at a series; docs/anomaly-detection.md says what each is good at.
enum class Score : uint8_t {
  kResidual,  // forecasts from the past against what came (expectation.h)
  kMasked,    // segments hidden and filled in from both sides; needs what comes after (expectation.h)
  kSubPca,    // the shape of windows against the normal subspace (windows.h)
  kProfile,   // the distance of windows to their nearest neighbours (windows.h)
  kPca,       // whether columns go together, and their levels (column_pca.h)
};
inline constexpr size_t kScores = 5;
std::string_view ScoreName(Score score);  // "residual", "masked", "subpca", "profile", "pca"
// Reads "residual,pca" (spaces allowed). Error: InvalidArgument, naming what there is.
StatusOr<std::vector<Score>> ParseScores(std::string_view text);

enum class Reason : uint8_t {
  kNone,
  kPoint,        // single rows off what was expected
  kSubsequence,  // a stretch whose shape is unusual
  kDrift,        // a level that moved and stays away
};
std::string_view ReasonName(Reason reason);  // "", "point", "subsequence", "drift"

// Limits, checked before anything is allocated.
inline constexpr int64_t kMostColumns = 128;
inline constexpr int64_t kMostRows = int64_t{1} << 20;
inline constexpr int64_t kMostValues = int64_t{1} << 24;  // rows times columns: 100 columns of 160,000 rows
inline constexpr int64_t kLeastRows = 16;

// Rows that count as a day where rows have no times.
inline constexpr double kRowsPerUnknownDay = 1000;

struct Series {
  std::vector<std::span<const double>> columns;  // oldest first; NaN and infinities are gaps. Aligned at
                                                 // their last rows: before a shorter one's first row are gaps
  double rows_per_day = 0;                       // 0: rows have no times
};

struct Options {
  std::vector<Score> scores;          // empty: those of DefaultScores
  double false_alarms_per_day = 0.1;  // that normal operation may give; above 0
  // First rows (with `last`: of those looked at) that show normal operation; a few anomalies do no harm. 0: a
  // quarter of the rows; with `last` all before these.
  int64_t calibration = 0;
  double coverage = 0.99;  // share of normal rows inside the band
  int64_t context = 0;     // steps of history a forecast sees; 0: all the model takes
  // Rows per forecast. 0: 4, or as many as keep to 32,768 forecasts, up to the model's horizon.
  int64_t step = 0;
  // Rows of a window. 0: whole periods of the series, at least 64 rows and at most 256; 96 without a period;
  // never more than a quarter of the calibration part.
  int64_t window = 0;
  int64_t last = 0;        // 0: the whole series; else only its last rows, as a stream sees them
  int64_t history = 2048;  // with `last`: rows before these that are looked at
  bool causal = false;     // every row is scored from what lies before it, as if it were the last
  bool relate = true;      // look for columns that moved before an alarm
};

// Of a whole series: all five; as a stream sees it: all but masked.
std::vector<Score> DefaultScores(bool causal);

struct Contribution {
  int64_t column = 0;
  double share = 0;  // of the alarm's peak; all columns together give 1
};

// A column that leads one of those of an alarm, and moved before it.
struct Cause {
  int64_t column = 0;
  int64_t of = 0;          // the column of the alarm that it leads
  int64_t lag = 0;         // rows it is ahead
  double correlation = 0;  // of what neither column's own past explains (relate.h)
  double p_value = 1;      // corrected for all pairs and lags
  int64_t moved_row = 0;   // where it was most off before the alarm
};

struct Alarm {
  int64_t begin = 0, end = 0;  // rows [begin, end) of the series
  int64_t peak_row = 0;
  double peak = 0;  // the highest fused score
  Reason reason = Reason::kNone;
  Score leading = Score::kResidual;   // the score that contributes most at the peak
  std::vector<Contribution> columns;  // largest first, at most five, each at least a tenth
  std::vector<Cause> causes;          // most significant first, at most three
};

// All vectors by row cover the rows [first, first + rows()) of the series.
struct Detection {
  int64_t first = 0;
  std::vector<std::vector<double>> expected, lower, upper;  // [columns][rows]; NaN where nothing is expected
  std::vector<double> score;                                // [rows]; NaN where no score could say anything
  std::vector<Score> scores;                                // those that were computed
  std::vector<std::vector<double>> surprise;                // [scores][rows], normalised; NaN where none
  std::vector<int32_t> alarm;                               // [rows]: index into alarms, or -1
  std::vector<Alarm> alarms;
  double threshold = 0;            // a row whose score reaches it is in an alarm
  int64_t calibration = 0;         // rows that it was set on
  int64_t window = 0;              // rows
  int64_t period = 0;              // of the strongest cycle, in rows; 0: none
  int64_t step = 0;                // rows per forecast
  std::vector<std::string> notes;  // sentences worth showing

  int64_t rows() const { return static_cast<int64_t>(score.size()); }
};

// How it works: the first rows, the calibration part, show what is normal. Each score gives a number per
// column and row, which becomes its surprise, the negative decimal logarithm of the probability that the
// calibration part gives to such a number (tail.h). A row's surprise is the mean over the quarter of the
// columns with the largest ones (at least one), less the chance of that among so many; the fused score is a
// weighted mean of the scores' surprises. The threshold is the level that the calibration part exceeds in so
// many separate events per day as are allowed (at most one in a hundred rows), by its tail where the part is
// shorter. Rows at or above it that lie less than half a window apart are one alarm.
//
// The result has the same bits for any number of threads. Work: rows * columns / step forecasts; the profile
// compares each window with those at most kProfileWork / (rows * columns) rows away. `cancelled` (optional)
// is polled. Errors: InvalidArgument for sizes beyond the limits above, too few rows, and options that make
// no sense, with what would be right; ResourceExhausted where memory would not do; those of Session::Run;
// Cancelled.
StatusOr<Detection> Detect(engine::Forecaster& forecaster, const Series& series, const Options& options,
                           StopCheck cancelled = {});
StatusOr<Detection> Detect(engine::Session& session, const Series& series, const Options& options,
                           StopCheck cancelled = {});

}  // namespace plinth::detect
