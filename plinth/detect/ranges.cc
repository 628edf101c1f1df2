#include "plinth/detect/ranges.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "plinth/detect/tail.h"

namespace plinth::detect {
namespace {

struct Range {
  int64_t begin, end;
};

std::vector<Range> RangesOf(std::span<const uint8_t> labels) {
  std::vector<Range> ranges;
  const int64_t n = static_cast<int64_t>(labels.size());
  for (int64_t i = 0; i < n; ++i) {
    if (labels[static_cast<size_t>(i)] == 0) continue;
    if (ranges.empty() || ranges.back().end < i) ranges.push_back({i, i});
    ranges.back().end = i + 1;
  }
  return ranges;
}

// The surface, one buffer at a time.
class Surface {
 public:
  Surface(std::span<const double> scores, std::span<const uint8_t> labels)
      : labels_(labels), ranges_(RangesOf(labels)), order_(scores.size()) {
    const auto known = [&](size_t i) {
      return std::isnan(scores[i]) ? -std::numeric_limits<double>::infinity() : scores[i];
    };
    std::iota(order_.begin(), order_.end(), size_t{0});
    std::stable_sort(order_.begin(), order_.end(), [&](size_t a, size_t b) { return known(a) > known(b); });
    for (size_t k = 0; k < order_.size(); ++k) {
      // Rows of equal score are predicted together.
      last_.push_back(k + 1 == order_.size() || known(order_[k + 1]) != known(order_[k]) ? 1 : 0);
    }
  }

  // Area under precision over recall for one buffer.
  double Area(int64_t buffer) {
    Weigh(buffer);
    std::vector<uint8_t> met(ranges_.size(), 0);
    double area = 0, hit = 0, recall = 0, precision = 1;
    size_t found = 0;
    for (size_t k = 0; k < order_.size(); ++k) {
      const size_t row = order_[k];
      hit += weight_[row];
      if (weight_[row] > 0) found += Meet(static_cast<int64_t>(row), buffer / 2, met);
      if (last_[k] == 0) continue;
      const double share = static_cast<double>(found) / static_cast<double>(ranges_.size());
      const double next_recall = std::min(1.0, hit / positive_) * share;
      const double next_precision = hit / static_cast<double>(k + 1);
      area += (next_recall - recall) * (next_precision + precision) / 2;
      recall = next_recall, precision = next_precision;
    }
    return area;
  }

 private:
  void Weigh(int64_t buffer) {
    const int64_t n = static_cast<int64_t>(labels_.size());
    weight_.resize(labels_.size());
    std::transform(labels_.begin(), labels_.end(), weight_.begin(),
                   [](uint8_t l) { return l != 0 ? 1.0 : 0.0; });
    const double anomalous = std::accumulate(weight_.begin(), weight_.end(), 0.0);
    for (const Range& range : ranges_) {
      for (int64_t d = 1; d <= buffer / 2; ++d) {
        const double w = std::sqrt(1 - static_cast<double>(d) / static_cast<double>(buffer));
        if (range.begin - d >= 0) weight_[static_cast<size_t>(range.begin - d)] += w;
        if (range.end - 1 + d < n) weight_[static_cast<size_t>(range.end - 1 + d)] += w;
      }
    }
    for (double& w : weight_) w = std::min(w, 1.0);
    positive_ = (anomalous + std::accumulate(weight_.begin(), weight_.end(), 0.0)) / 2;
  }

  // How many ranges, with their buffers of `half` rows, hold this row first.
  size_t Meet(int64_t row, int64_t half, std::vector<uint8_t>& met) const {
    // Ranges are sorted and apart: the first that ends late enough.
    auto at = std::partition_point(ranges_.begin(), ranges_.end(),
                                   [&](const Range& r) { return r.end - 1 + half < row; });
    size_t count = 0;
    for (; at != ranges_.end() && at->begin - half <= row; ++at) {
      uint8_t& is = met[static_cast<size_t>(at - ranges_.begin())];
      count += is == 0 ? 1 : 0;
      is = 1;
    }
    return count;
  }

  std::span<const uint8_t> labels_;
  std::vector<Range> ranges_;
  std::vector<size_t> order_;  // rows, highest score first
  std::vector<uint8_t> last_;  // by place in the order: the last of its score
  std::vector<double> weight_;
  double positive_ = 0;
};

}  // namespace

StatusOr<double> VusPr(std::span<const double> scores, std::span<const uint8_t> labels, int64_t buffer) {
  if (scores.size() != labels.size()) {
    return absl::InvalidArgumentError(StrCat("there are ", scores.size(), " scores and ", labels.size(),
                                             " labels; each row has one of both"));
  }
  if (buffer < 0)
    return absl::InvalidArgumentError(StrCat("the buffer is ", buffer, " rows; it is 0 or more"));
  if (std::none_of(labels.begin(), labels.end(), [](uint8_t l) { return l != 0; })) {
    return absl::InvalidArgumentError("no row is labelled as an anomaly; recall needs at least one");
  }
  Surface surface(scores, labels);
  double before = surface.Area(0), volume = 0;
  if (buffer == 0) return before;
  for (int64_t l = 1; l <= buffer; ++l) {
    const double area = surface.Area(l);
    volume += (before + area) / 2;
    before = area;
  }
  return volume / static_cast<double>(buffer);
}

EventCounts CountEvents(std::span<const double> scores, std::span<const uint8_t> labels, double threshold,
                        int64_t gap) {
  EventCounts counts;
  const std::vector<Range> ranges = RangesOf(labels);
  const std::vector<Event> events = EventsAbove(scores, threshold, gap);
  counts.alarms = static_cast<int64_t>(events.size());
  counts.anomalies = static_cast<int64_t>(ranges.size());
  for (const Event& event : events) {
    for (const Range& range : ranges) {
      if (event.begin >= range.end || range.begin >= event.end) continue;
      ++counts.true_alarms;
      break;
    }
  }
  double delay = 0;
  for (const Range& range : ranges) {
    for (int64_t row = range.begin; row < range.end; ++row) {
      // An alarm that joins rows over a gap is on in between.
      const auto at =
          std::partition_point(events.begin(), events.end(), [&](const Event& e) { return e.end <= row; });
      if (at == events.end() || at->begin > row) continue;
      ++counts.found;
      delay += static_cast<double>(row - range.begin);
      break;
    }
  }
  counts.mean_delay = counts.found == 0 ? std::numeric_limits<double>::quiet_NaN()
                                        : delay / static_cast<double>(counts.found);
  return counts;
}

}  // namespace plinth::detect
