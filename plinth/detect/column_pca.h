// Scores rows by the levels of all columns: whether they are where they were, and still go together.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plinth/detect/column.h"
#include "plinth/detect/subspace.h"

namespace plinth::detect {

struct PcaScores {
  std::vector<double> score;              // [rows]; NaN where a quarter of the columns or more are gaps, and
                                          // before row `level` - 1
  std::vector<std::vector<float>> parts;  // [columns][rows]: contributions
};

// Hotelling's T2 and SPE (subspace.h) of the columns' levels, each the mean of its last `level` rows in the
// spread that this mean has in rows [0, learn), which say what is normal. Single rows belong to other scores;
// the mean lets through what stays. The score is the root of the distance. With one column it asks how
// unusual its level is.
PcaScores ColumnPcaScore(std::span<const Column> columns, int64_t learn, int64_t level);

// The same in two steps: what is normal, and scores of rows by it. A row's bits depend on the `level` rows
// that end with it alone.
class ColumnLevels {
 public:
  ColumnLevels() = default;
  // `stream`: the last kStreamOpen rows of a level count as they are (column.h).
  ColumnLevels(std::span<const Column> columns, int64_t learn, int64_t level, bool stream);
  // Of rows [from, rows); NaN and 0 before.
  PcaScores Scores(std::span<const Column> columns, int64_t from) const;

 private:
  double Level(const Column& column, int64_t row) const;
  void LevelsAt(std::span<const Column> columns, int64_t row, double* x) const;
  bool Known(std::span<const Column> columns, int64_t row) const;

  int64_t level_ = 1;
  bool stream_ = false;
  std::vector<Spread> spreads_;  // by column, of its level
  Subspace subspace_;
};

}  // namespace plinth::detect
