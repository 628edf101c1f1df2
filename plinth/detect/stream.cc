#include "plinth/detect/stream.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "plinth/detect/fuse.h"
#include "plinth/detect/run_scores.h"

namespace plinth::detect {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr int64_t kMostReferences = 8192;

void ForColumns(Threads& threads, size_t columns, const std::function<void(size_t)>& body) {
  threads.For(static_cast<int64_t>(columns), [&](int64_t c, int) { body(static_cast<size_t>(c)); });
}

Status Check(StopCheck cancelled) {
  return cancelled() ? absl::CancelledError("interrupted") : absl::OkStatus();
}

void MakeSurprises(const Surprise& surprise, std::vector<double>* raw) {
  for (double& v : *raw) v = surprise.Of(v);
}

}  // namespace

std::vector<Expectation> NoExpectation(size_t columns, int64_t rows) {
  std::vector<Expectation> all(columns);
  for (Expectation& e : all) {
    for (auto* v : {&e.middle, &e.lower, &e.upper}) v->assign(static_cast<size_t>(rows), kNan);
  }
  return all;
}

StatusOr<std::shared_ptr<const Fitted>> Fitted::Make(engine::Forecaster& forecaster, const Series& normal,
                                                     int64_t rows, const Options& options,
                                                     StopCheck cancelled, Scored* scored) {
  Options checked = options;
  checked.last = 0, checked.causal = true;
  checked.calibration = RowsOf(normal);
  PLINTH_RETURN_IF_ERROR(CheckDetection(normal, checked));
  std::shared_ptr<Fitted> fitted(new Fitted);
  const size_t longest = static_cast<size_t>(RowsOf(normal));
  fitted->options_ = options;
  fitted->scores_ = options.scores.empty() ? DefaultScores(true) : options.scores;
  fitted->calibration_ = static_cast<int64_t>(longest);
  fitted->rows_ = std::max(rows, fitted->calibration_);
  const int64_t most = forecaster.most_context();
  fitted->context_ = options.context == 0 ? most : std::min(options.context, most);
  const size_t columns = normal.columns.size();
  fitted->of_columns_.resize(columns), fitted->normal_.resize(columns);
  ForColumns(forecaster.threads(), columns, [&](size_t c) {
    const auto given = normal.columns[c];
    std::vector<double> values(longest, kNan);
    std::copy(given.begin(), given.end(), values.end() - static_cast<std::ptrdiff_t>(given.size()));
    fitted->of_columns_[c].scale = LearnScale(values);
    fitted->normal_[c] = MakeStreamColumn(values, fitted->of_columns_[c].scale);
  });
  fitted->sizes_ = ChooseSizes(fitted->normal_, fitted->calibration_, fitted->rows_, normal.rows_per_day,
                               options, forecaster);
  Scored own;
  PLINTH_RETURN_IF_ERROR(fitted->Learn(forecaster, cancelled, scored == nullptr ? &own : scored));
  return std::shared_ptr<const Fitted>(fitted);
}

Status Fitted::Learn(engine::Forecaster& forecaster, StopCheck cancelled, Scored* scored) {
  scored->expectation = NoExpectation(normal_.size(), calibration_);
  for (const detect::Score score : scores_) {
    PLINTH_RETURN_IF_ERROR(Check(cancelled));
    if (score == detect::Score::kResidual) {
      PLINTH_RETURN_IF_ERROR(LearnResidual(forecaster, cancelled, scored));
    } else if (score == detect::Score::kPca) {
      levels_ = ColumnLevels(normal_, calibration_, (sizes_.window + 1) / 2, true);
      PcaScores pca = levels_.Scores(normal_, 0);
      level_ = Surprise(pca.score);
      MakeSurprises(level_, &pca.score);
      scored->findings.scores.push_back({score, std::move(pca.score), std::move(pca.parts)});
    } else {
      LearnWindows(score, rows_, forecaster.threads(), scored);
    }
  }
  Fuse(&scored->findings);
  threshold_ = EventThreshold(scored->findings.fused, sizes_.rate, (sizes_.window + 1) / 2);
  if (options_.relate && normal_.size() > 1) {
    PLINTH_ASSIGN_OR_RETURN(relations_, Relate(normal_, {}, forecaster.threads(), cancelled));
  }
  return absl::OkStatus();
}

Status Fitted::LearnResidual(engine::Forecaster& forecaster, StopCheck cancelled, Scored* scored) {
  const ForecastPlan plan{context_, sizes_.step, FirstForecast(calibration_)};
  PLINTH_ASSIGN_OR_RETURN(scored->expectation, ForecastRows(forecaster, normal_, plan, cancelled));
  std::vector<std::vector<double>> raw(normal_.size());
  ForColumns(forecaster.threads(), normal_.size(), [&](size_t c) {
    Expectation& e = scored->expectation[c];
    of_columns_[c].band = Calibrate(normal_[c], calibration_, options_.coverage, e);
    raw[c] = std::move(e.off);
    of_columns_[c].residual = Surprise(raw[c]);
    MakeSurprises(of_columns_[c].residual, &raw[c]);
  });
  scored->findings.scores.push_back(JoinColumns(detect::Score::kResidual, std::move(raw)));
  return absl::OkStatus();
}

void Fitted::LearnWindows(detect::Score score, int64_t rows, Threads& threads, Scored* scored) {
  const WindowPlan plan{sizes_.window, calibration_, true};
  const int64_t reach = ProfileReach(sizes_.window, rows, normal_.size());
  std::vector<std::vector<double>> raw(normal_.size());
  ForColumns(threads, normal_.size(), [&](size_t c) {
    OfColumn& of = of_columns_[c];
    const bool shape = score == detect::Score::kSubPca;
    if (shape) {
      of.shapes = FitShapes(normal_[c], sizes_.window);
      raw[c] = SubPcaScore(normal_[c], plan);
    } else {
      of.reference = ProfileReference(normal_[c], sizes_.window, std::min(reach, kMostReferences));
      raw[c] = of.reference.Scores(normal_[c], 0, 0);
    }
    Surprise& surprise = shape ? of.shape : of.profile;
    surprise = Surprise(raw[c]);
    MakeSurprises(surprise, &raw[c]);
  });
  scored->findings.scores.push_back(JoinColumns(score, std::move(raw)));
}

int64_t Fitted::lookback() const {
  const int64_t forecasts = context_ + sizes_.step;
  const int64_t windows = sizes_.window + ProfileReference::kAnchor;
  return std::max(forecasts, windows) + kStreamMemory + 1;
}

std::vector<Column> Fitted::Columns(std::span<const std::span<const double>> tail, Threads& threads) const {
  std::vector<Column> columns(tail.size());
  ForColumns(threads, tail.size(),
             [&](size_t c) { columns[c] = MakeStreamColumn(tail[c], of_columns_[c].scale); });
  return columns;
}

StatusOr<Findings::OfScore> Fitted::ScoreOne(detect::Score score, engine::Forecaster& forecaster,
                                             std::span<const Column> columns, int64_t base, int64_t from,
                                             StopCheck cancelled,
                                             std::vector<Expectation>* expectation) const {
  if (score == detect::Score::kPca) {
    PcaScores pca = levels_.Scores(columns, from);
    MakeSurprises(level_, &pca.score);
    return Findings::OfScore{score, std::move(pca.score), std::move(pca.parts)};
  }
  std::vector<std::vector<double>> raw(columns.size());
  if (score == detect::Score::kResidual) {
    // Forecasts begin at the same rows of the series, whichever are asked for.
    const int64_t first = FirstForecast(calibration_), step = sizes_.step;
    const ForecastPlan plan{context_, step, first + (base + from - first) / step * step - base};
    PLINTH_ASSIGN_OR_RETURN(*expectation, ForecastRows(forecaster, columns, plan, cancelled));
  }
  ForColumns(forecaster.threads(), columns.size(), [&](size_t c) {
    const OfColumn& of = of_columns_[c];
    if (score == detect::Score::kResidual) {
      Expectation& e = (*expectation)[c];
      for (auto* v : {&e.middle, &e.lower, &e.upper}) std::fill_n(v->begin(), from, kNan);
      Apply(columns[c], of.band, e);
      raw[c] = std::move(e.off);
      MakeSurprises(of.residual, &raw[c]);
    } else if (score == detect::Score::kSubPca) {
      raw[c] = ShapeScores(columns[c], sizes_.window, of.shapes, from);
      MakeSurprises(of.shape, &raw[c]);
    } else {
      raw[c] = of.reference.Scores(columns[c], base, from);
      MakeSurprises(of.profile, &raw[c]);
    }
  });
  return JoinColumns(score, std::move(raw));
}

StatusOr<Scored> Fitted::Score(engine::Forecaster& forecaster, std::span<const std::span<const double>> tail,
                               int64_t base, int64_t from, StopCheck cancelled) const {
  const std::vector<Column> columns = Columns(tail, forecaster.threads());
  Scored scored;
  scored.expectation = NoExpectation(columns.size(), columns[0].rows());
  for (const detect::Score score : scores_) {
    PLINTH_RETURN_IF_ERROR(Check(cancelled));
    PLINTH_ASSIGN_OR_RETURN(auto of,
                            ScoreOne(score, forecaster, columns, base, from, cancelled, &scored.expectation));
    scored.findings.scores.push_back(std::move(of));
  }
  Fuse(&scored.findings);
  return scored;
}

std::vector<Alarm> Fitted::Alarms(std::span<const std::span<const double>> tail, const Findings& findings,
                                  int64_t first) const {
  Threads own(1);
  const std::vector<Column> columns = Columns(tail, own);
  std::vector<Alarm> alarms =
      FindAlarms(columns, findings, {threshold_, sizes_.window, normal_, calibration_}, first);
  if (options_.relate) AddCauses(columns, findings, relations_, alarms);
  return alarms;
}

}  // namespace plinth::detect
