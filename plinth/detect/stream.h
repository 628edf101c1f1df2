// Scores rows of a stream by what was learnt once from its first rows: Detect in two steps, for services that
// see a few rows at a time.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "plinth/detect/alarms.h"
#include "plinth/detect/column_pca.h"
#include "plinth/detect/detect.h"
#include "plinth/detect/expectation.h"
#include "plinth/detect/relate.h"
#include "plinth/detect/sizes.h"
#include "plinth/detect/tail.h"
#include "plinth/detect/windows.h"

namespace plinth::detect {

// What rows say about themselves and the scores about them. All vectors cover the same rows.
struct Scored {
  std::vector<Expectation> expectation;  // by column
  Findings findings;
};

// What is normal in a series, as its first rows show it. Never changes once it is made; may be shared between
// threads.
class Fitted {
 public:
  // Learns from `normal`, the calibration part. `rows` are to be scored in all; 0: nobody knows. Of `options`
  // those of a stream count; `last`, `history` and `calibration` do not. Errors: those of Detect.
  // `scored`, if any, gets what the scores say about these rows themselves.
  static StatusOr<std::shared_ptr<const Fitted>> Make(engine::Forecaster& forecaster, const Series& normal,
                                                      int64_t rows, const Options& options,
                                                      StopCheck cancelled, Scored* scored = nullptr);

  // Scores rows of the series whose first rows were learnt from. `tail`: its rows from number `base` on;
  // `from` is the first of them to score (counted from `base`), and lies behind the calibration part. A row
  // has the same bits whatever other rows are scored with it, if lookback() rows before `from` are given (or
  // all there are). The result covers all rows of `tail`; those before `from` are NaN. Errors: those of
  // Session::Run; Cancelled.
  StatusOr<Scored> Score(engine::Forecaster& forecaster, std::span<const std::span<const double>> tail,
                         int64_t base, int64_t from, StopCheck cancelled) const;

  // Alarms of `findings`, which cover the rows of `tail`, from the row `first` on. With their causes by the
  // relations that the calibration part shows, unless options().relate is off.
  std::vector<Alarm> Alarms(std::span<const std::span<const double>> tail, const Findings& findings,
                            int64_t first) const;

  int64_t lookback() const;
  const std::vector<detect::Score>& scores() const { return scores_; }
  const Sizes& sizes() const { return sizes_; }
  int64_t calibration() const { return calibration_; }
  int64_t columns() const { return static_cast<int64_t>(of_columns_.size()); }
  double threshold() const { return threshold_; }
  std::vector<Column> Columns(std::span<const std::span<const double>> tail, Threads& threads) const;
  // The calibration part.
  const std::vector<Column>& normal() const { return normal_; }

 private:
  struct OfColumn {
    ColumnScale scale;
    Band band;
    Surprise residual, shape, profile;
    Subspace shapes;
    ProfileReference reference;
  };
  Fitted() = default;
  Status Learn(engine::Forecaster& forecaster, StopCheck cancelled, Scored* scored);
  Status LearnResidual(engine::Forecaster& forecaster, StopCheck cancelled, Scored* scored);
  void LearnWindows(detect::Score score, int64_t rows, Threads& threads, Scored* scored);
  StatusOr<Findings::OfScore> ScoreOne(detect::Score score, engine::Forecaster& forecaster,
                                       std::span<const Column> columns, int64_t base, int64_t from,
                                       StopCheck cancelled, std::vector<Expectation>* expectation) const;

  std::vector<detect::Score> scores_;
  Options options_;
  Sizes sizes_;
  int64_t calibration_ = 0, context_ = 0, rows_ = 0;
  double threshold_ = 0;
  std::vector<OfColumn> of_columns_;
  std::vector<Column> normal_;
  ColumnLevels levels_;
  Surprise level_;
  Relations relations_;
};

// Expectations of rows about which nothing is expected.
std::vector<Expectation> NoExpectation(size_t columns, int64_t rows);

}  // namespace plinth::detect
