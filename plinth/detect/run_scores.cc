#include "plinth/detect/run_scores.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "plinth/detect/alarms.h"
#include "plinth/detect/column_pca.h"
#include "plinth/detect/expectation.h"
#include "plinth/detect/fuse.h"
#include "plinth/detect/relate.h"
#include "plinth/detect/sizes.h"
#include "plinth/detect/stream.h"
#include "plinth/detect/tail.h"
#include "plinth/detect/windows.h"

namespace plinth::detect {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
// Runs the scores one after another and joins them.
class Detector {
 public:
  Detector(engine::Forecaster& forecaster, const Series& series, const Options& options, StopCheck cancelled)
      : forecaster_(forecaster),
        options_(options),
        cancelled_(cancelled),
        rows_per_day_(series.rows_per_day) {
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
    scores_ = options.scores.empty() ? DefaultScores(causal_) : options.scores;
    Align(series);
  }

  StatusOr<Detection> Run() {
    Detection d;
    if (causal_) {
      PLINTH_RETURN_IF_ERROR(RunStream(d));
    } else {
      PLINTH_RETURN_IF_ERROR(RunWhole(d));
    }
    const std::vector<Column>& columns = columns_;
    const AlarmRule rule{d.threshold, sizes_.window, columns, calibration_};
    d.alarms = FindAlarms(columns, found_, rule, first_);
    if (options_.relate && columns.size() > 1 && !d.alarms.empty()) {
      PLINTH_RETURN_IF_ERROR(CheckCancelled());
      PLINTH_ASSIGN_OR_RETURN(const Relations relations,
                              Relate(columns, {}, forecaster_.threads(), cancelled_));
      AddCauses(columns, found_, relations, d.alarms);
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

  void Align(const Series& series) {
    values_.resize(series.columns.size()), columns_.resize(values_.size());
    ForColumns([&](size_t c) {
      const auto given = series.columns[c];
      values_[c].assign(static_cast<size_t>(rows_), kNan);
      const size_t count = std::min(given.size(), values_[c].size());
      std::copy(given.end() - static_cast<std::ptrdiff_t>(count), given.end(),
                values_[c].end() - static_cast<std::ptrdiff_t>(count));
    });
  }

  // Every row is judged with all others known.
  Status RunWhole(Detection& d) {
    ForColumns([&](size_t c) { columns_[c] = MakeColumn(values_[c], calibration_); });
    sizes_ = ChooseSizes(columns_, calibration_, rows_, rows_per_day_, options_, forecaster_);
    for (const Score score : scores_) {
      PLINTH_RETURN_IF_ERROR(CheckCancelled());
      PLINTH_RETURN_IF_ERROR(Add(score));
    }
    Fuse(&found_);
    d.threshold = EventThreshold(std::span(found_.fused).first(static_cast<size_t>(calibration_)),
                                 sizes_.rate, (sizes_.window + 1) / 2);
    return absl::OkStatus();
  }

  // Learns from the calibration part, then scores the rows behind it by that.
  Status RunStream(Detection& d) {
    Series normal;
    normal.rows_per_day = rows_per_day_;
    std::vector<std::span<const double>> all(values_.begin(), values_.end());
    for (const auto& column : all) normal.columns.push_back(column.first(static_cast<size_t>(calibration_)));
    Options options = options_;
    options.relate = false;  // all rows are known here and tell more
    Scored learnt;
    PLINTH_ASSIGN_OR_RETURN(const auto fitted,
                            Fitted::Make(forecaster_, normal, rows_, options, cancelled_, &learnt));
    sizes_ = fitted->sizes();
    d.threshold = fitted->threshold();
    PLINTH_ASSIGN_OR_RETURN(Scored scored, fitted->Score(forecaster_, all, 0, calibration_, cancelled_));
    columns_ = fitted->Columns(all, forecaster_.threads());
    expectation_ = std::move(scored.expectation);
    found_ = std::move(scored.findings);
    for (size_t c = 0; c < columns_.size(); ++c) {
      Expectation &to = expectation_[c], &from = learnt.expectation[c];
      std::copy(from.middle.begin(), from.middle.end(), to.middle.begin());
      std::copy(from.lower.begin(), from.lower.end(), to.lower.begin());
      std::copy(from.upper.begin(), from.upper.end(), to.upper.begin());
    }
    for (size_t s = 0; s < found_.scores.size(); ++s) {
      Findings::OfScore &to = found_.scores[s], &from = learnt.findings.scores[s];
      std::copy(from.surprise.begin(), from.surprise.end(), to.surprise.begin());
      for (size_t c = 0; c < to.parts.size(); ++c)
        std::copy(from.parts[c].begin(), from.parts[c].end(), to.parts[c].begin());
    }
    std::copy(learnt.findings.fused.begin(), learnt.findings.fused.end(), found_.fused.begin());
    return absl::OkStatus();
  }

  // Makes surprises of what a score says about each column, and one of them all.
  void AddByColumn(Score score, std::vector<std::vector<double>> raw) {
    ForColumns([&](size_t c) {
      const Surprise surprise(std::span(raw[c]).first(static_cast<size_t>(calibration_)));
      for (double& v : raw[c]) v = surprise.Of(v);
    });
    found_.scores.push_back(JoinColumns(score, std::move(raw)));
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
    PcaScores pca = ColumnPcaScore(columns_, calibration_, (sizes_.window + 1) / 2);
    found_.scores.push_back({score, Normalised(std::move(pca.score)), std::move(pca.parts)});
    return absl::OkStatus();
  }

  Status AddExpectation(Score score) {
    ForecastPlan plan{options_.context, sizes_.step, FirstForecast(calibration_)};
    const int64_t horizon = forecaster_.most_horizon();
    std::vector<Expectation> all;
    if (score == Score::kResidual) {
      PLINTH_ASSIGN_OR_RETURN(all, ForecastRows(forecaster_, columns_, plan, cancelled_));
    } else {
      plan.step = std::max(sizes_.step, std::min({sizes_.window, horizon, rows_ / 4}));
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
    const WindowPlan plan{sizes_.window, calibration_, false};
    const int64_t reach = ProfileReach(sizes_.window, rows_, columns_.size());
    std::vector<std::vector<double>> raw(columns_.size());
    ForColumns([&](size_t c) {
      raw[c] =
          score == Score::kSubPca ? SubPcaScore(columns_[c], plan) : ProfileScore(columns_[c], plan, reach);
    });
    AddByColumn(score, std::move(raw));
  }

  std::vector<double> Shown(std::vector<double> by_row) const {
    by_row.erase(by_row.begin(), by_row.begin() + static_cast<std::ptrdiff_t>(first_));
    return by_row;
  }

  // Moves what was found into the result; its rows are those of the series.
  void Fill(Detection& d) {
    d.first = offset_ + first_;
    d.calibration = calibration_, d.window = sizes_.window, d.period = sizes_.period, d.step = sizes_.step;
    d.scores = scores_;
    for (auto& of : found_.scores) d.surprise.push_back(Shown(std::move(of.surprise)));
    d.score = Shown(std::move(found_.fused));
    if (expectation_.empty()) expectation_ = NoExpectation(columns_.size(), rows_);
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
  double rows_per_day_ = 0;
  bool causal_ = false;
  int64_t offset_ = 0;  // rows of the series before those that are looked at
  int64_t rows_ = 0, first_ = 0, calibration_ = 0;
  std::vector<Score> scores_;
  Sizes sizes_;
  std::vector<std::vector<double>> values_;  // by column, of equal length
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
