#include "plinth/detect/column_pca.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "plinth/detect/windows.h"

namespace plinth::detect {

double ColumnLevels::Level(const Column& column, int64_t row) const {
  double sum = 0;
  const int64_t open = stream_ ? row + 1 - kStreamOpen : row + 1;
  for (int64_t t = row + 1 - level_; t <= row; ++t)
    sum += t < open ? column.calm[static_cast<size_t>(t)] : column.z[static_cast<size_t>(t)];
  return sum / static_cast<double>(level_);
}

void ColumnLevels::LevelsAt(std::span<const Column> columns, int64_t row, double* x) const {
  for (size_t c = 0; c < columns.size(); ++c)
    x[c] = (Level(columns[c], row) - spreads_[c].middle) / spreads_[c].scale;
}

bool ColumnLevels::Known(std::span<const Column> columns, int64_t row) const {
  if (row + 1 < level_) return false;  // the mean of few rows varies more than that of many
  int64_t gaps = 0;
  for (const Column& column : columns) gaps += std::isnan(column.value[static_cast<size_t>(row)]) ? 1 : 0;
  return 4 * gaps < static_cast<int64_t>(columns.size());
}

ColumnLevels::ColumnLevels(std::span<const Column> columns, int64_t learn, int64_t level, bool stream)
    : level_(level), stream_(stream) {
  for (const Column& column : columns) {
    std::vector<double> levels;
    for (int64_t t = level - 1; t < learn; ++t) levels.push_back(Level(column, t));
    // A level that hardly varied in these rows may vary by a tenth of what the values do.
    spreads_.push_back(SpreadOf(levels));
    spreads_.back().scale = std::max(spreads_.back().scale, 0.1);
  }
  const size_t d = columns.size();
  const int64_t every = (learn + kMostSamples - 1) / kMostSamples;
  std::vector<double> samples;
  for (int64_t t = 0; t < learn; t += every) {
    if (!Known(columns, t)) continue;
    samples.resize(samples.size() + d);
    LevelsAt(columns, t, samples.data() + samples.size() - d);
  }
  subspace_ = Subspace::Fit(samples, static_cast<int64_t>(d));
}

PcaScores ColumnLevels::Scores(std::span<const Column> columns, int64_t from) const {
  const int64_t rows = columns[0].rows();
  const size_t d = columns.size();
  PcaScores out;
  out.score.assign(static_cast<size_t>(rows), std::numeric_limits<double>::quiet_NaN());
  out.parts.assign(d, std::vector<float>(static_cast<size_t>(rows)));
  std::vector<double> x(d), parts(d);
  for (int64_t t = from; t < rows; ++t) {
    if (!Known(columns, t)) continue;
    LevelsAt(columns, t, x.data());
    out.score[static_cast<size_t>(t)] = std::sqrt(subspace_.Distance(x, parts));
    for (size_t c = 0; c < d; ++c) out.parts[c][static_cast<size_t>(t)] = static_cast<float>(parts[c]);
  }
  return out;
}

PcaScores ColumnPcaScore(std::span<const Column> columns, int64_t learn, int64_t level) {
  return ColumnLevels(columns, learn, level, false).Scores(columns, 0);
}

}  // namespace plinth::detect
