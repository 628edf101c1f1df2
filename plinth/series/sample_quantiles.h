// Reduces weighted samples of one quantity to its quantiles, as forecasts beyond a model's horizon need it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace plinth::series {

// A long forecast follows several paths; each gives the model's levels again, and all of these numbers
// together are samples of one distribution. Made once, used by any number of threads, each with a workspace
// of its own. Sums and interpolation run in double.
//
// Samples that are NaN stand above all others. Equal samples keep their order, so a result depends on
// nothing but the samples as they were given.
class SampleQuantiles {
 public:
  // What Apply writes to on its way; of one thread.
  class Workspace {
   public:
    explicit Workspace(const SampleQuantiles& quantiles) : entries_(quantiles.samples()) {}

   private:
    friend class SampleQuantiles;
    struct Entry {
      uint64_t key;  // ascends with the sample
      uint32_t index;
      double value;
    };
    std::vector<Entry> entries_;
  };

  // Every one of `samples` samples counts the same: the quantile at q lies at rank q * (samples - 1) of the
  // sorted samples, linear between neighbours (type 7 of Hyndman and Fan, "Sample Quantiles in Statistical
  // Packages", 1996; torch.quantile). One NaN among the samples makes every quantile NaN.
  // levels: in [0, 1]; samples: at least 1.
  static SampleQuantiles Alike(std::span<const double> levels, size_t samples);

  // Sample [i][j] of [path_levels][model_levels] counts mass(path_levels, i) * mass(model_levels, j), where
  // mass(l, i) = (l[i + 1] - l[i - 1]) / 2 with 0 before the first level and 1 behind the last, made to sum
  // to 1. A sorted sample stands at the level of its cumulative weight; the quantile at q is linear between
  // the last sample at or below q and the first above, constant below the first sample.
  // (The long-horizon rule of Chronos-2, chronos-forecasting 2.x.)
  // path_levels, model_levels: ascending, inside (0, 1), not empty; wanted: in [0, 1].
  static SampleQuantiles ByMass(std::span<const double> path_levels, std::span<const double> model_levels,
                                std::span<const double> wanted);

  // samples: samples() numbers, [paths][levels] for ByMass; out: one value for each wanted level; they may
  // overlap. Allocates nothing.
  void Apply(std::span<const double> samples, Workspace& workspace, std::span<double> out) const;

  size_t samples() const { return samples_; }
  size_t size() const { return levels_.size(); }

 private:
  SampleQuantiles(std::span<const double> levels, size_t samples)
      : levels_(levels.begin(), levels.end()), samples_(samples) {}

  double AtRank(const Workspace& workspace, double level) const;
  void ByCumulativeWeight(const Workspace& workspace, std::span<double> out) const;

  std::vector<double> levels_;
  size_t samples_;
  std::vector<double> weights_;   // of each sample, sum 1; empty: all the same
  std::vector<uint32_t> ascent_;  // indices of levels_, so that the levels ascend
};

}  // namespace plinth::series
