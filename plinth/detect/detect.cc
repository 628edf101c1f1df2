#include "plinth/detect/detect.h"

#include <algorithm>
#include <cmath>

#include "plinth/base/memory.h"
#include "plinth/detect/run_scores.h"

namespace plinth::detect {
namespace {

constexpr std::string_view kScoreNames[kScores] = {"residual", "masked", "subpca", "profile", "pca"};

Status Refuse(std::string what) { return absl::InvalidArgumentError(what); }

Status CheckSizes(const Series& series, const Options& o) {
  const int64_t columns = static_cast<int64_t>(series.columns.size()), rows = RowsOf(series);
  if (columns < 1) return Refuse("the series has no column; detection needs at least one");
  if (columns > kMostColumns) {
    return Refuse(StrCat("the series has ", columns, " columns; detection looks at up to ", kMostColumns,
                         ": name fewer targets"));
  }
  if (rows < kLeastRows) {
    return Refuse(StrCat("the series has ", rows, " rows; detection needs at least ", kLeastRows));
  }
  if (rows > kMostRows || rows * columns > kMostValues) {
    return Refuse(StrCat("the series has ", rows, " rows and ", columns, " columns; detection takes up to ",
                         kMostRows, " rows and ", kMostValues,
                         " values at once: cut the file, or name fewer targets"));
  }
  // What stands by value: column, its standardised form and gaps (20), two expectations (64), five scores'
  // parts (20), and work (24).
  const int64_t needed = rows * columns * 128 + rows * 256;
  if (o.last == 0 && needed > AvailableMemory() / 4 * 3) {
    return absl::ResourceExhaustedError(
        StrCat("detection over ", rows, " rows and ", columns, " columns needs ", needed >> 20, " MiB; ",
               AvailableMemory() >> 20, " MiB are available: name fewer targets, or cut the file"));
  }
  return absl::OkStatus();
}

// Rows that will be learnt from.
int64_t CalibrationOf(int64_t rows, const Options& o) {
  const int64_t before = o.last > 0 ? std::min(rows - o.last, std::max(o.history, kLeastRows)) : rows;
  if (o.calibration > 0) return std::min(o.calibration, before);
  return o.last > 0 ? before : std::max(rows / 4, kLeastRows);
}

Status CheckOptions(const Series& series, const Options& o) {
  const int64_t rows = RowsOf(series);
  if (!(o.false_alarms_per_day > 0) || !std::isfinite(o.false_alarms_per_day)) {
    return Refuse(StrCat("the allowed false alarms per day are ", o.false_alarms_per_day,
                         "; a number above 0 is needed, such as 0.1 for one in ten days"));
  }
  if (!(o.coverage > 0 && o.coverage < 1)) {
    return Refuse(StrCat("the coverage of the band is ", o.coverage, "; it lies between 0 and 1, as 0.99"));
  }
  if (!(series.rows_per_day >= 0) || !std::isfinite(series.rows_per_day)) {
    return Refuse(
        StrCat("the rows per day are ", series.rows_per_day, "; they cannot be negative or infinite"));
  }
  if (o.context < 0 || o.step < 0 || o.history < 0)
    return Refuse("context, step and history must not be negative");
  if (o.window != 0 && (o.window < 2 || o.window > rows / 2)) {
    return Refuse(
        StrCat("a window of ", o.window, " rows in a series of ", rows, "; it has 2 to ", rows / 2));
  }
  if (o.last < 0 || o.last > rows - kLeastRows) {
    return Refuse(StrCat("the last ", o.last, " of ", rows, " rows are asked for; at least ", kLeastRows,
                         " must lie before them"));
  }
  if (o.calibration != 0 && (o.calibration < kLeastRows || o.calibration > rows - o.last)) {
    return Refuse(
        StrCat("a calibration part of ", o.calibration, " rows in a series of ", rows,
               o.last > 0 ? StrCat(", of which the last ", o.last, " are asked for") : std::string(),
               "; it has ", kLeastRows, " to ", rows - o.last));
  }
  const bool stream = o.last > 0 || o.causal;
  const int64_t normal = CalibrationOf(rows, o);
  if (stream && o.window > normal / 2) {
    return Refuse(StrCat("a window of ", o.window, " rows with a calibration part of ", normal,
                         ", from which a stream is judged; it has 2 to ", normal / 2));
  }
  const bool masked = std::find(o.scores.begin(), o.scores.end(), Score::kMasked) != o.scores.end();
  if (masked && (o.last > 0 || o.causal)) {
    return Refuse("the score masked needs the rows behind each row and cannot score a stream; leave it out");
  }
  return absl::OkStatus();
}

}  // namespace

Status CheckDetection(const Series& series, const Options& options) {
  PLINTH_RETURN_IF_ERROR(CheckSizes(series, options));
  return CheckOptions(series, options);
}

std::string_view ScoreName(Score score) { return kScoreNames[static_cast<size_t>(score)]; }

std::string_view ReasonName(Reason reason) {
  constexpr std::string_view kNames[] = {"", "point", "subsequence", "drift"};
  return kNames[static_cast<size_t>(reason)];
}

StatusOr<std::vector<Score>> ParseScores(std::string_view text) {
  std::vector<Score> scores;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    std::string_view name = text.substr(begin, end - begin);
    while (name.starts_with(' ')) name.remove_prefix(1);
    while (name.ends_with(' ')) name.remove_suffix(1);
    const auto at = std::find(std::begin(kScoreNames), std::end(kScoreNames), name);
    if (at == std::end(kScoreNames)) {
      return Refuse(StrCat("there is no score \"", name, "\"; there are ", Join(kScoreNames, ", ")));
    }
    const Score score = static_cast<Score>(at - std::begin(kScoreNames));
    if (std::find(scores.begin(), scores.end(), score) != scores.end()) {
      return Refuse(StrCat("the score \"", name, "\" is named twice; once is enough"));
    }
    scores.push_back(score);
    begin = end + 1;
  }
  return scores;
}

std::vector<Score> DefaultScores(bool causal) {
  if (causal) return {Score::kResidual, Score::kSubPca, Score::kProfile, Score::kPca};
  return {Score::kResidual, Score::kMasked, Score::kSubPca, Score::kProfile, Score::kPca};
}

StatusOr<Detection> Detect(engine::Forecaster& forecaster, const Series& series, const Options& options,
                           StopCheck cancelled) {
  PLINTH_RETURN_IF_ERROR(CheckDetection(series, options));
  return RunScores(forecaster, series, options, cancelled);
}

StatusOr<Detection> Detect(engine::Session& session, const Series& series, const Options& options,
                           StopCheck cancelled) {
  engine::SessionForecaster forecaster(session);
  return Detect(forecaster, series, options, cancelled);
}

}  // namespace plinth::detect
