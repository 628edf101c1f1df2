#include "plinth/detect/run_scores.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "plinth/detect/alarms.h"
#include "plinth/detect/column_pca.h"
#include "plinth/detect/expectation.h"
#include "plinth/detect/relate.h"
#include "plinth/detect/tail.h"
#include "plinth/detect/windows.h"

namespace plinth::detect {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr int64_t kLeastStep = 4, kMostForecasts = 32768;
constexpr int64_t kLeastWindow = 64, kMostWindow = 256, kUsualWindow = 96;
constexpr int64_t kMostPeriod = 2048;               // longer cycles are not looked for
constexpr int64_t kProfileWork = int64_t{1} << 34;  // pairs of windows: half a minute of one core
constexpr double kWeights[kScores] = {0, 1, 1.5, 1, 1.5};
constexpr double kResidualPart = 0.25;
constexpr double kMostEvents = 0.01;  // allowed false alarms per row are never more

// Runs the scores one after another and joins them.
class Detector {
 public:
  Detector(engine::Forecaster& forecaster, const Series& series, const Options& options, StopCheck cancelled)
      : forecaster_(forecaster), options_(options), cancelled_(cancelled) {
    const int64_t all = RowsOf(series);
    causal_ = options.causal || options.last > 0;
    // As a stream sees it, what lies farther back than `history` is forgotten.
    offset_ = options.last == 0
                  ? 0
                  : std::max<int64_t>(0, all - options.last - std::max(options.history, kLeastRows));
    rows_ = all - offset_;
    first_ = options.last == 0 ? 0 : rows_ - options.last;
    calibration_ = options.last > 0 ? first_ : std::max(rows_ / 4, kLeastRows);
    if (options.calibration > 0) calibration_ = std::min(options.calibration, first_ > 0 ? first_ : rows_);
    learn_ = calibration_;
    scores_ = options.scores.empty() ? DefaultScores(causal_) : options.scores;
    const double day = series.rows_per_day > 0 ? series.rows_per_day : kRowsPerUnknownDay;
    rate_ = std::min(options.false_alarms_per_day / day, kMostEvents);
    MakeColumns(series);
  }

  StatusOr<Detection> Run() {
    ChooseSizes();
    Detection d;
    for (const Score score : scores_) {
      PLINTH_RETURN_IF_ERROR(CheckCancelled());
      PLINTH_RETURN_IF_ERROR(Add(score));
    }
    Fuse();
    d.threshold = EventThreshold(std::span(found_.fused).first(static_cast<size_t>(calibration_)), rate_,
                                 (window_ + 1) / 2);
    d.alarms = FindAlarms(columns_, found_, d.threshold, window_, calibration_, first_);
    if (options_.relate && columns_.size() > 1 && !d.alarms.empty()) {
      PLINTH_RETURN_IF_ERROR(CheckCancelled());
      AddCauses(columns_, found_, Relate(columns_, {}, forecaster_.threads()), d.alarms);
    }
    Fill(d);
    return d;
  }

 private:
  Status CheckCancelled() const {
    return cancelled_() ? absl::CancelledError("interrupted") : absl::OkStatus();
  }

  // Runs body(column) on all threads.
  void ForColumns(const std::function<void(size_t)>& body) {
    forecaster_.threads().For(static_cast<int64_t>(columns_.size()),
                              [&](int64_t c, int) { body(static_cast<size_t>(c)); });
  }

  void MakeColumns(const Series& series) {
    columns_.resize(series.columns.size());
    ForColumns([&](size_t c) {
      const auto given = series.columns[c];
      std::vector<double> values(static_cast<size_t>(rows_), kNan);
      const size_t count = std::min(given.size(), values.size());
      std::copy(given.end() - static_cast<std::ptrdiff_t>(count), given.end(),
                values.end() - static_cast<std::ptrdiff_t>(count));
      columns_[c] = MakeColumn(values, learn_);
    });
  }

  void ChooseSizes() {
    std::vector<int64_t> periods(columns_.size());
    ForColumns([&](size_t c) { periods[c] = PeriodOf(columns_[c], learn_, kMostPeriod); });
    // The period that most columns have; of equally frequent ones the shortest.
    std::sort(periods.begin(), periods.end());
    int64_t most = 0;
    for (const int64_t p : periods) {
      const int64_t count = std::count(periods.begin(), periods.end(), p);
      if (p > 0 && count > most) most = count, period_ = p;
    }
    window_ = options_.window;
    if (window_ == 0) {
      // Whole periods, so that every window holds the same part of the cycle.
      const int64_t periods = period_ > 0 ? (kLeastWindow + period_ - 1) / period_ * period_ : kUsualWindow;
      const int64_t wished = std::min(periods, kMostWindow);
      window_ = std::max<int64_t>(2, std::min(wished, calibration_ / 4));
    }
    const int64_t horizon = forecaster_.most_horizon();
    const int64_t values = rows_ * static_cast<int64_t>(columns_.size());
    step_ = options_.step > 0 ? options_.step
                              : std::max(kLeastStep, (values + kMostForecasts - 1) / kMostForecasts);
    step_ = std::min({step_, horizon, rows_});
  }

  // Makes surprises of what a score says about each column, and one of them all.
  void AddByColumn(Score score, std::vector<std::vector<double>> raw) {
    Findings::OfScore of{score, std::vector<double>(static_cast<size_t>(rows_), kNan), {}};
    of.parts.resize(columns_.size());
    ForColumns([&](size_t c) {
      const Surprise surprise(std::span(raw[c]).first(static_cast<size_t>(calibration_)));
      of.parts[c].resize(static_cast<size_t>(rows_));
      for (size_t t = 0; t < raw[c].size(); ++t) {
        raw[c][t] = surprise.Of(raw[c][t]);
        of.parts[c][t] = std::isnan(raw[c][t]) ? 0.0f : static_cast<float>(raw[c][t]);
      }
    });
    if (columns_.size() == 1) {
      of.surprise = std::move(raw[0]);
    } else {
      of.surprise = Largest(raw);
    }
    found_.scores.push_back(std::move(of));
  }

  // By row the mean of the largest quarter, less the surprise of finding such among so many (Bonferroni).
  // Another tail fit would bound what one column can say.
  std::vector<double> Largest(const std::vector<std::vector<double>>& surprises) const {
    std::vector<double> mean(static_cast<size_t>(rows_), kNan), row;
    const size_t most = 1 + columns_.size() / 4;
    const double chance = std::log10(static_cast<double>(columns_.size()) / static_cast<double>(most));
    for (size_t t = 0; t < mean.size(); ++t) {
      row.clear();
      for (const auto& column : surprises) {
        if (!std::isnan(column[t])) row.push_back(column[t]);
      }
      if (row.empty()) continue;
      const size_t count = std::min(row.size(), most);
      std::partial_sort(row.begin(), row.begin() + static_cast<std::ptrdiff_t>(count), row.end(),
                        std::greater<>());
      double sum = 0;
      for (size_t k = 0; k < count; ++k) sum += row[k];
      mean[t] = std::max(0.0, sum / static_cast<double>(count) - chance);
    }
    return mean;
  }

  std::vector<double> Normalised(std::vector<double> raw) const {
    const Surprise surprise{std::span(raw).first(static_cast<size_t>(calibration_))};
    for (double& v : raw) v = surprise.Of(v);
    return raw;
  }

  Status Add(Score score) {
    switch (score) {
      case Score::kResidual:
      case Score::kMasked:
        return AddExpectation(score);
      case Score::kSubPca:
      case Score::kProfile:
        AddWindows(score);
        return absl::OkStatus();
      case Score::kPca:
        break;
    }
    PcaScores pca = ColumnPcaScore(columns_, learn_, (window_ + 1) / 2);
    found_.scores.push_back({score, Normalised(std::move(pca.score)), std::move(pca.parts)});
    return absl::OkStatus();
  }

  Status AddExpectation(Score score) {
    ForecastPlan plan{options_.context, step_, std::clamp<int64_t>(calibration_ / 4, 1, 64)};
    const int64_t horizon = forecaster_.most_horizon();
    std::vector<Expectation> all;
    if (score == Score::kResidual) {
      PLINTH_ASSIGN_OR_RETURN(all, ForecastRows(forecaster_, columns_, plan, cancelled_));
    } else {
      plan.step = std::max(step_, std::min({window_, horizon, rows_ / 4}));
      PLINTH_ASSIGN_OR_RETURN(all, FillRows(forecaster_, columns_, plan, cancelled_));
    }
    std::vector<std::vector<double>> raw(columns_.size());
    ForColumns([&](size_t c) {
      Calibrate(columns_[c], calibration_, options_.coverage, all[c]);
      // A segment is off as a whole.
      raw[c] = score == Score::kResidual ? std::move(all[c].off) : Smooth(all[c].off, plan.step);
    });
    AddByColumn(score, std::move(raw));
    // The band of the forecast is the one that is shown; that of the reconstruction where there is no
    // forecast.
    if (score == Score::kResidual || expectation_.empty()) expectation_ = std::move(all);
    return absl::OkStatus();
  }

  // Centred means over `length` rows; gaps left out.
  std::vector<double> Smooth(const std::vector<double>& x, int64_t length) const {
    std::vector<double> mean(x.size(), kNan);
    const int64_t n = static_cast<int64_t>(x.size()), half = length / 2;
    for (int64_t t = 0; t < n; ++t) {
      double sum = 0, count = 0;
      for (int64_t k = std::max<int64_t>(0, t - half); k <= std::min(n - 1, t + half); ++k) {
        const double v = x[static_cast<size_t>(k)];
        if (std::isnan(v)) continue;
        sum += v, count += 1;
      }
      if (count > 0) mean[static_cast<size_t>(t)] = sum / count;
    }
    return mean;
  }

  void AddWindows(Score score) {
    const WindowPlan plan{window_, learn_, causal_};
    const int64_t reach =
        std::max<int64_t>(4 * window_, kProfileWork / (rows_ * static_cast<int64_t>(columns_.size())));
    std::vector<std::vector<double>> raw(columns_.size());
    ForColumns([&](size_t c) {
      raw[c] =
          score == Score::kSubPca ? SubPcaScore(columns_[c], plan) : ProfileScore(columns_[c], plan, reach);
    });
    AddByColumn(score, std::move(raw));
  }

  // The larger one of two: the weighted quadratic mean of the surprises of windows and levels, and a part of
  // the residual's. Forecasts are off by chance in single rows all the time; averaged in they would be noise,
  // but a row that is far off counts by itself. Weights and the part did best on the files of part "tune" in
  // bench/detect/files.json.
  void Fuse() {
    if (found_.scores.size() == 1) {
      found_.fused = found_.scores[0].surprise;
      return;
    }
    found_.fused.assign(static_cast<size_t>(rows_), kNan);
    for (size_t t = 0; t < found_.fused.size(); ++t) {
      double sum = 0, whole = 0, alone = kNan;
      for (const auto& of : found_.scores) {
        if (std::isnan(of.surprise[t])) continue;
        if (of.score == Score::kResidual) {
          alone = kResidualPart * of.surprise[t];
          continue;
        }
        const double weight = kWeights[static_cast<size_t>(of.score)];
        sum += weight * of.surprise[t] * of.surprise[t];
        whole += weight;
      }
      const double together = whole > 0 ? std::sqrt(sum / whole) : kNan;
      found_.fused[t] = std::isnan(alone) || together > alone ? together : alone;
    }
  }

  std::vector<double> Shown(std::vector<double> by_row) const {
    by_row.erase(by_row.begin(), by_row.begin() + static_cast<std::ptrdiff_t>(first_));
    return by_row;
  }

  // Moves what was found into the result; its rows are those of the series.
  void Fill(Detection& d) {
    d.first = offset_ + first_;
    d.calibration = calibration_, d.window = window_, d.period = period_, d.step = step_;
    d.scores = scores_;
    for (auto& of : found_.scores) d.surprise.push_back(Shown(std::move(of.surprise)));
    d.score = Shown(std::move(found_.fused));
    if (expectation_.empty()) {
      expectation_.resize(columns_.size());
      for (auto& e : expectation_) {
        for (auto* v : {&e.middle, &e.lower, &e.upper}) v->assign(static_cast<size_t>(rows_), kNan);
      }
    }
    for (auto& e : expectation_) {
      d.expected.push_back(Shown(std::move(e.middle)));
      d.lower.push_back(Shown(std::move(e.lower)));
      d.upper.push_back(Shown(std::move(e.upper)));
    }
    d.alarm.assign(d.score.size(), -1);
    for (size_t a = 0; a < d.alarms.size(); ++a) {
      Alarm& alarm = d.alarms[a];
      for (int64_t* row : {&alarm.begin, &alarm.end, &alarm.peak_row}) *row += offset_;
      for (Cause& cause : alarm.causes) cause.moved_row += offset_;
      std::fill(d.alarm.begin() + (alarm.begin - d.first), d.alarm.begin() + (alarm.end - d.first),
                static_cast<int32_t>(a));
    }
  }

  engine::Forecaster& forecaster_;
  const Options& options_;
  StopCheck cancelled_;
  bool causal_ = false;
  int64_t offset_ = 0;  // rows of the series before those that are looked at
  int64_t rows_ = 0, first_ = 0, calibration_ = 0, learn_ = 0;
  double rate_ = 0;  // allowed events per row
  std::vector<Score> scores_;
  int64_t period_ = 0, window_ = 0, step_ = 0;
  std::vector<Column> columns_;
  std::vector<Expectation> expectation_;
  Findings found_;
};

}  // namespace

int64_t RowsOf(const Series& series) {
  size_t rows = 0;
  for (const auto& column : series.columns) rows = std::max(rows, column.size());
  return static_cast<int64_t>(rows);
}

StatusOr<Detection> RunScores(engine::Forecaster& forecaster, const Series& series, const Options& options,
                              StopCheck cancelled) {
  return Detector(forecaster, series, options, cancelled).Run();
}

}  // namespace plinth::detect
