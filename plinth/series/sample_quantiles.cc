#include "plinth/series/sample_quantiles.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include "plinth/base/check.h"

namespace plinth::series {
namespace {

// Maps a number to an integer that ascends with it; NaN is the greatest, both zeros are the same.
uint64_t Key(double value) {
  if (std::isnan(value)) return std::numeric_limits<uint64_t>::max();
  const auto bits = std::bit_cast<uint64_t>(value + 0.0);  // -0 becomes +0
  constexpr uint64_t kSign = uint64_t{1} << 63;
  return (bits & kSign) != 0 ? ~bits : bits | kSign;
}

// The probability around each level by the trapezoidal rule.
std::vector<double> Masses(std::span<const double> levels) {
  PLINTH_CHECK(!levels.empty());
  std::vector<double> masses(levels.size());
  for (size_t i = 0; i < levels.size(); ++i) {
    const double before = i == 0 ? 0.0 : levels[i - 1];
    const double behind = i + 1 == levels.size() ? 1.0 : levels[i + 1];
    masses[i] = (behind - before) / 2;
    PLINTH_CHECK(masses[i] > 0);
  }
  const double sum = std::accumulate(masses.begin(), masses.end(), 0.0);
  for (double& mass : masses) mass /= sum;
  return masses;
}

// Equal ends give that number itself, infinities included.
double Between(double from, double to, double weight) {
  return from == to ? from : from + weight * (to - from);
}

}  // namespace

SampleQuantiles SampleQuantiles::Alike(std::span<const double> levels, size_t samples) {
  PLINTH_CHECK(samples > 0);
  PLINTH_CHECK_LE(samples, std::numeric_limits<uint32_t>::max());
  return {levels, samples};
}

SampleQuantiles SampleQuantiles::ByMass(std::span<const double> path_levels,
                                        std::span<const double> model_levels,
                                        std::span<const double> wanted) {
  const std::vector<double> paths = Masses(path_levels), levels = Masses(model_levels);
  PLINTH_CHECK_LE(paths.size(), std::numeric_limits<uint32_t>::max() / levels.size());
  SampleQuantiles made(wanted, paths.size() * levels.size());
  made.weights_.reserve(made.samples_);
  for (const double path : paths) {
    for (const double level : levels) made.weights_.push_back(path * level);
  }
  const double sum = std::accumulate(made.weights_.begin(), made.weights_.end(), 0.0);
  for (double& weight : made.weights_) weight /= sum;
  made.ascent_.resize(made.levels_.size());
  std::iota(made.ascent_.begin(), made.ascent_.end(), 0);
  std::stable_sort(made.ascent_.begin(), made.ascent_.end(),
                   [&](uint32_t a, uint32_t b) { return made.levels_[a] < made.levels_[b]; });
  return made;
}

void SampleQuantiles::Apply(std::span<const double> samples, Workspace& workspace,
                            std::span<double> out) const {
  PLINTH_CHECK_EQ(samples.size(), samples_);
  PLINTH_CHECK_EQ(out.size(), levels_.size());
  PLINTH_CHECK_EQ(workspace.entries_.size(), samples_);
  auto& entries = workspace.entries_;
  for (size_t i = 0; i < samples_; ++i) entries[i] = {Key(samples[i]), static_cast<uint32_t>(i), samples[i]};
  // The index makes the order of equal samples that of a stable sort, which would allocate.
  std::sort(entries.begin(), entries.end(), [](const Workspace::Entry& a, const Workspace::Entry& b) {
    return a.key != b.key ? a.key < b.key : a.index < b.index;
  });
  if (!weights_.empty()) return ByCumulativeWeight(workspace, out);
  if (std::isnan(entries.back().value)) {
    std::fill(out.begin(), out.end(), std::numeric_limits<double>::quiet_NaN());
    return;
  }
  for (size_t i = 0; i < out.size(); ++i) out[i] = AtRank(workspace, levels_[i]);
}

double SampleQuantiles::AtRank(const Workspace& workspace, double level) const {
  const double rank = level * static_cast<double>(samples_ - 1);
  const auto below = static_cast<size_t>(rank);
  const double weight = rank - static_cast<double>(below);
  const double from = workspace.entries_[below].value;
  const double to = workspace.entries_[std::min(below + 1, samples_ - 1)].value;
  if (weight == 0 || from == to) return from;
  // From the nearer end, so that the upper end is met exactly.
  return weight < 0.5 ? from + weight * (to - from) : to - (1 - weight) * (to - from);
}

// Walks over the sorted samples once while the wanted levels ascend.
void SampleQuantiles::ByCumulativeWeight(const Workspace& workspace, std::span<double> out) const {
  const auto& entries = workspace.entries_;
  const auto level_of = [&](double sum) { return std::min(sum, 1.0); };
  size_t above = 0;  // the first sample whose level is greater than the wanted one
  double sum = weights_[entries[0].index];
  double level_before = 0;  // that of the sample before, or of the first one drawn down to level 0
  for (const uint32_t i : ascent_) {
    const double wanted = levels_[i];
    while (above < samples_ && level_of(sum) <= wanted) {
      level_before = level_of(sum);
      if (++above < samples_) sum += weights_[entries[above].index];
    }
    const double from = entries[above == 0 ? 0 : above - 1].value;
    const bool ended = above == samples_;
    const double to = ended ? from : entries[above].value;
    const double level_above = ended ? 1.0 : level_of(sum);
    const double width = level_above - level_before;
    out[i] = width > 0 ? Between(from, to, (wanted - level_before) / width) : from;
  }
}

}  // namespace plinth::series
