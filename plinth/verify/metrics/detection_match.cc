#include "plinth/verify/metrics/detection_match.h"

#include <algorithm>
#include <numeric>

namespace plinth::verify::metrics {
namespace {

struct Range {
  double low, high;
  bool Outside(double area) const { return area < low || area > high; }
};
constexpr Range kRanges[kAreas] = {{0, 1e10}, {0, 32.0 * 32}, {32.0 * 32, 96.0 * 96}, {96.0 * 96, 1e10}};

// As numpy's linspace(0.5, 0.95, 10) rounds them.
double Threshold(int t) { return t == kOverlaps - 1 ? 0.95 : 0.5 + t * ((0.95 - 0.5) / 9); }

// One image at one range of areas.
class Matcher {
 public:
  Matcher(std::span<const TrueObject> truth, const std::vector<DetectedObject>& detected,
          const std::vector<double>& overlaps, const Range& range)
      : truth_(truth),
        detected_(detected),
        overlaps_(overlaps),
        range_(range),
        order_(truth.size()),
        ignored_(truth.size()) {
    for (size_t g = 0; g < truth.size(); ++g) ignored_[g] = truth[g].crowd || range.Outside(truth[g].area);
    std::iota(order_.begin(), order_.end(), size_t{0});
    std::stable_partition(order_.begin(), order_.end(), [&](size_t g) { return !ignored_[g]; });
  }
  int64_t objects() const { return std::count(ignored_.begin(), ignored_.end(), false); }

  void Run(int t, int area, std::vector<MatchedDetection>* out) const {
    std::vector<bool> taken(truth_.size());
    for (size_t d = 0; d < detected_.size(); ++d) {
      const size_t best = Best(d, Threshold(t), taken);
      const uint16_t bit = static_cast<uint16_t>(1u << t);
      MatchedDetection& result = (*out)[d];
      const size_t a = static_cast<size_t>(area);
      if (best < truth_.size()) {
        taken[best] = true;
        result.matched[a] = static_cast<uint16_t>(result.matched[a] | bit);
        if (ignored_[best]) result.ignored[a] = static_cast<uint16_t>(result.ignored[a] | bit);
      } else if (range_.Outside(detected_[d].box[2] * detected_[d].box[3])) {
        result.ignored[a] = static_cast<uint16_t>(result.ignored[a] | bit);
      }
    }
  }

 private:
  size_t Best(size_t d, double threshold, const std::vector<bool>& taken) const {
    double least = std::min(threshold, 1 - 1e-10);
    size_t best = truth_.size();
    for (const size_t g : order_) {
      if (taken[g] && !truth_[g].crowd) continue;
      // The rest does not count, and an object that does is matched already.
      if (best < truth_.size() && !ignored_[best] && ignored_[g]) break;
      const double overlap = overlaps_[d * truth_.size() + g];
      if (overlap < least) continue;
      least = overlap;
      best = g;
    }
    return best;
  }

  std::span<const TrueObject> truth_;
  const std::vector<DetectedObject>& detected_;
  const std::vector<double>& overlaps_;
  const Range& range_;
  std::vector<size_t> order_;
  std::vector<bool> ignored_;
};

}  // namespace

double BoxOverlap(const Box& detected, const Box& truth, bool crowd) {
  const double width =
      std::min(detected[0] + detected[2], truth[0] + truth[2]) - std::max(detected[0], truth[0]);
  if (width <= 0) return 0;
  const double height =
      std::min(detected[1] + detected[3], truth[1] + truth[3]) - std::max(detected[1], truth[1]);
  if (height <= 0) return 0;
  const double both = width * height, own = detected[2] * detected[3];
  return both / (crowd ? own : own + truth[2] * truth[3] - both);
}

ImageMatches MatchImage(std::span<const TrueObject> truth, std::span<const DetectedObject> detected) {
  std::vector<DetectedObject> sorted(detected.begin(), detected.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const DetectedObject& a, const DetectedObject& b) { return a.score > b.score; });
  if (sorted.size() > kMostDetections) sorted.resize(kMostDetections);
  std::vector<double> overlaps(sorted.size() * truth.size());
  for (size_t d = 0; d < sorted.size(); ++d) {
    for (size_t g = 0; g < truth.size(); ++g) {
      overlaps[d * truth.size() + g] = BoxOverlap(sorted[d].box, truth[g].box, truth[g].crowd);
    }
  }
  ImageMatches result;
  for (const DetectedObject& d : sorted) result.detections.push_back({d.score, {}, {}});
  for (int a = 0; a < kAreas; ++a) {
    const Matcher matcher(truth, sorted, overlaps, kRanges[a]);
    result.objects[static_cast<size_t>(a)] = matcher.objects();
    for (int t = 0; t < kOverlaps; ++t) matcher.Run(t, a, &result.detections);
  }
  return result;
}

}  // namespace plinth::verify::metrics
