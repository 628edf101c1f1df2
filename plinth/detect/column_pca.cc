#include "plinth/detect/column_pca.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "plinth/detect/subspace.h"
#include "plinth/detect/windows.h"

namespace plinth::detect {
namespace {

// Levels of all columns, row by row.
class Levels {
 public:
  Levels(std::span<const Column> columns, int64_t learn, int64_t level) : columns_(columns), level_(level) {
    for (const Column& column : columns) {
      std::vector<double> sums(column.calm.size() + 1);
      for (size_t t = 0; t < column.calm.size(); ++t) sums[t + 1] = sums[t] + column.calm[t];
      sums_.push_back(std::move(sums));
      std::vector<double> levels;
      for (int64_t t = level - 1; t < learn; ++t) levels.push_back(Level(sums_.size() - 1, t));
      // A level that hardly varied in these rows may vary by a tenth of what the values do.
      spreads_.push_back(SpreadOf(levels));
      spreads_.back().scale = std::max(spreads_.back().scale, 0.1);
    }
  }
  void Of(int64_t t, double* x) const {
    for (size_t c = 0; c < columns_.size(); ++c)
      x[c] = (Level(c, t) - spreads_[c].middle) / spreads_[c].scale;
  }
  bool Known(int64_t t) const {
    if (t + 1 < level_) return false;  // the mean of few rows varies more than that of many
    int64_t gaps = 0;
    for (const Column& column : columns_) gaps += std::isnan(column.value[static_cast<size_t>(t)]) ? 1 : 0;
    return 4 * gaps < static_cast<int64_t>(columns_.size());
  }

 private:
  double Level(size_t c, int64_t t) const {
    const size_t end = static_cast<size_t>(t) + 1;
    return (sums_[c][end] - sums_[c][end - static_cast<size_t>(level_)]) / static_cast<double>(level_);
  }
  std::span<const Column> columns_;
  int64_t level_;
  std::vector<std::vector<double>> sums_;
  std::vector<Spread> spreads_;
};

}  // namespace

PcaScores ColumnPcaScore(std::span<const Column> columns, int64_t learn, int64_t level) {
  const int64_t rows = columns[0].rows();
  const Levels levels(columns, learn, level);
  const size_t d = columns.size();
  const int64_t every = (learn + kMostSamples - 1) / kMostSamples;
  std::vector<double> samples;
  for (int64_t t = 0; t < learn; t += every) {
    if (!levels.Known(t)) continue;
    samples.resize(samples.size() + d);
    levels.Of(t, samples.data() + samples.size() - d);
  }
  const Subspace subspace = Subspace::Fit(samples, static_cast<int64_t>(d));
  PcaScores out;
  out.score.assign(static_cast<size_t>(rows), std::numeric_limits<double>::quiet_NaN());
  out.parts.assign(d, std::vector<float>(static_cast<size_t>(rows)));
  std::vector<double> x(d), parts(d);
  for (int64_t t = 0; t < rows; ++t) {
    if (!levels.Known(t)) continue;
    levels.Of(t, x.data());
    out.score[static_cast<size_t>(t)] = std::sqrt(subspace.Distance(x, parts));
    for (size_t c = 0; c < d; ++c) out.parts[c][static_cast<size_t>(t)] = static_cast<float>(parts[c]);
  }
  return out;
}

}  // namespace plinth::detect
