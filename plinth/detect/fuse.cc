#include "plinth/detect/fuse.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

namespace plinth::detect {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kWeights[kScores] = {0, 1, 1.5, 1, 1.5};
constexpr double kResidualPart = 0.25;

}  // namespace

std::vector<double> LargestOf(const std::vector<std::vector<double>>& surprises) {
  std::vector<double> mean(surprises[0].size(), kNan), row;
  const size_t most = 1 + surprises.size() / 4;
  const double chance = std::log10(static_cast<double>(surprises.size()) / static_cast<double>(most));
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

Findings::OfScore JoinColumns(Score score, std::vector<std::vector<double>> surprises) {
  Findings::OfScore of{score, {}, {}};
  for (const auto& column : surprises) {
    std::vector<float>& part = of.parts.emplace_back(column.size());
    for (size_t t = 0; t < column.size(); ++t)
      part[t] = std::isnan(column[t]) ? 0.0f : static_cast<float>(column[t]);
  }
  of.surprise = surprises.size() == 1 ? std::move(surprises[0]) : LargestOf(surprises);
  return of;
}

void Fuse(Findings* findings) {
  if (findings->scores.size() == 1) {
    findings->fused = findings->scores[0].surprise;
    return;
  }
  findings->fused.assign(findings->scores[0].surprise.size(), kNan);
  for (size_t t = 0; t < findings->fused.size(); ++t) {
    double sum = 0, whole = 0, alone = kNan;
    for (const auto& of : findings->scores) {
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
    findings->fused[t] = std::isnan(alone) || together > alone ? together : alone;
  }
}

}  // namespace plinth::detect
