#include "plinth/detect/windows.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <tuple>
#include <utility>

#include "plinth/detect/subspace.h"

namespace plinth::detect {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr int64_t kMostNumbers = 32;
constexpr int64_t kLanes = 8;  // diagonals that are walked side by side

// Averages windows down to a fixed number of pieces (Keogh et al. 2001: PAA).
class Pieces {
 public:
  explicit Pieces(int64_t length) : length_(length), count_(std::min(length, kMostNumbers)) {}
  int64_t count() const { return count_; }
  // Afresh for each window: with differences of running sums its bits would depend on where the column
  // begins.
  void Of(std::span<const double> window, double* out) const {
    for (int64_t k = 0; k < count_; ++k) {
      const int64_t from = k * length_ / count_, to = (k + 1) * length_ / count_;
      double sum = 0;
      for (int64_t t = from; t < to; ++t) sum += window[static_cast<size_t>(t)];
      out[k] = sum / static_cast<double>(to - from);
    }
  }

 private:
  int64_t length_, count_;
};

// The rows of a window.
std::span<const double> CalmWindow(const Column& column, int64_t begin, int64_t length) {
  return std::span(column.calm).subspan(static_cast<size_t>(begin), static_cast<size_t>(length));
}

// As a stream sees it when its last row has come: that and the one before count as they are.
std::span<const double> OpenWindow(const Column& column, int64_t begin, int64_t length,
                                   std::vector<double>* buffer) {
  const auto calm = CalmWindow(column, begin, length);
  buffer->assign(calm.begin(), calm.end());
  for (int64_t k = std::max<int64_t>(0, length - kStreamOpen); k < length; ++k)
    (*buffer)[static_cast<size_t>(k)] = column.z[static_cast<size_t>(begin + k)];
  return *buffer;
}

// Mean and squared length, its mean taken off.
std::pair<double, double> MomentsOf(std::span<const double> window) {
  double sum = 0, squares = 0;
  for (const double v : window) sum += v;
  const double mean = sum / static_cast<double>(window.size());
  for (const double v : window) squares += (v - mean) * (v - mean);
  return {mean, squares};
}

// Squared lengths of all windows with their means taken off.
struct WindowMoments {
  std::vector<double> mean, squares;
  WindowMoments(const std::vector<double>& z, int64_t length) {
    const size_t count = z.size() - static_cast<size_t>(length) + 1;
    mean.resize(count), squares.resize(count);
    // Afresh for each window: differences of running sums would keep the error of a spike for ever.
    for (size_t i = 0; i < count; ++i)
      std::tie(mean[i], squares[i]) = MomentsOf(std::span(z).subspan(i, static_cast<size_t>(length)));
  }
};

// Walks kLanes neighbouring diagonals of the matrix of all pairs of windows.
class DiagonalWalk {
 public:
  DiagonalWalk(const std::vector<double>& z, int64_t length, const WindowMoments& moments, size_t normal,
               std::vector<double>* nearest)
      : z_(z), m_(static_cast<size_t>(length)), moments_(moments), normal_(normal), nearest_(*nearest) {}

  // Windows i and i + lag + l, for all i; lanes beyond the end meet the last windows again, which is harmless
  // as long as their distance is not used.
  void Walk(size_t lag, size_t lanes) {
    const size_t count = moments_.mean.size();
    double product[kLanes] = {};
    for (size_t l = 0; l < lanes; ++l) {
      for (size_t k = 0; k < m_; ++k) product[l] += z_[k] * z_[lag + l + k];
    }
    const double m = static_cast<double>(m_);
    for (size_t i = 0; i < normal_ && i + lag < count; ++i) {
      const size_t live = std::min(lanes, count - lag - i);
      const double in = i == 0 ? 0 : z_[i + m_ - 1], out = i == 0 ? 0 : z_[i - 1];
      const double mean = m * moments_.mean[i], squares = moments_.squares[i];
      double own = nearest_[i];
      for (size_t l = 0; l < live; ++l) {
        const size_t j = i + lag + l;
        if (i > 0) product[l] += in * z_[j + m_ - 1] - out * z_[j - 1];
        const double d = squares + moments_.squares[j] - 2 * (product[l] - mean * moments_.mean[j]);
        nearest_[j] = std::min(nearest_[j], d);
        if (j < normal_) own = std::min(own, d);
      }
      nearest_[i] = own;
    }
  }

 private:
  const std::vector<double>& z_;
  size_t m_;
  const WindowMoments& moments_;
  size_t normal_;
  std::vector<double>& nearest_;
};

}  // namespace

std::vector<double> ToRows(const std::vector<double>& windows, int64_t rows, const WindowPlan& plan) {
  std::vector<double> scores(static_cast<size_t>(rows), kNan);
  const int64_t count = static_cast<int64_t>(windows.size());
  if (plan.causal) {
    for (int64_t i = 0; i < count; ++i)
      scores[static_cast<size_t>(i + plan.length - 1)] = windows[static_cast<size_t>(i)];
    return scores;
  }
  std::vector<double> sums(windows.size() + 1);
  std::vector<int32_t> known(windows.size() + 1);
  for (size_t i = 0; i < windows.size(); ++i) {
    const bool is = std::isfinite(windows[i]);
    sums[i + 1] = sums[i] + (is ? windows[i] : 0);
    known[i + 1] = known[i] + (is ? 1 : 0);
  }
  for (int64_t t = 0; t < rows; ++t) {
    // Near the ends few windows hold a row; the nearest ones stand in, so that its mean is no wilder than
    // others.
    const int64_t half = std::min(count, (plan.length + 1) / 2);
    const size_t first = static_cast<size_t>(std::clamp<int64_t>(t - plan.length + 1, 0, count - half));
    const size_t last = static_cast<size_t>(std::clamp(t + 1, half, count));
    if (known[last] == known[first]) continue;
    scores[static_cast<size_t>(t)] = std::max(0.0, sums[last] - sums[first]) / (known[last] - known[first]);
  }
  return scores;
}

// Fits a subspace to every `every`-th window of those that begin in [begin, end).
Subspace FitWindows(const Column& column, const Pieces& pieces, int64_t length, int64_t begin, int64_t end) {
  const size_t d = static_cast<size_t>(pieces.count());
  const int64_t every = std::max<int64_t>(1, (end - begin + kMostSamples - 1) / kMostSamples);
  std::vector<double> samples;
  for (int64_t i = begin; i < end; i += every) {
    if (!column.Known(i, i + length)) continue;
    samples.resize(samples.size() + d);
    pieces.Of(CalmWindow(column, i, length), samples.data() + samples.size() - d);
  }
  return Subspace::Fit(samples, pieces.count());
}

std::vector<double> SubPcaScore(const Column& column, const WindowPlan& plan) {
  const int64_t count = column.rows() - plan.length + 1;
  if (count < 1) return std::vector<double>(static_cast<size_t>(column.rows()), kNan);
  const Pieces pieces(plan.length);
  std::vector<double> open;
  const int64_t learn = std::clamp<int64_t>(plan.learn - plan.length + 1, 1, count);
  std::vector<double> windows(static_cast<size_t>(count), kNan), x(static_cast<size_t>(pieces.count()));
  const auto score = [&](const Subspace& subspace, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      if (!column.Known(i, i + plan.length)) continue;
      pieces.Of(plan.causal ? OpenWindow(column, i, plan.length, &open) : CalmWindow(column, i, plan.length),
                x.data());
      windows[static_cast<size_t>(i)] = std::sqrt(subspace.Distance(x));
    }
  };
  const int64_t half = learn / 2, apart = plan.length / 2;
  if (half - apart >= plan.length / 2) {
    score(FitWindows(column, pieces, plan.length, half + apart, learn), 0, half);
    score(FitWindows(column, pieces, plan.length, 0, half - apart), half, learn);
  } else {
    score(FitWindows(column, pieces, plan.length, 0, learn), 0, learn);
  }
  score(FitWindows(column, pieces, plan.length, 0, learn), learn, count);
  return ToRows(windows, column.rows(), plan);
}

std::vector<double> ProfileScore(const Column& column, const WindowPlan& plan, int64_t reach) {
  const int64_t count = column.rows() - plan.length + 1;
  const int64_t apart = (plan.length + 1) / 2;
  if (count <= apart) return std::vector<double>(static_cast<size_t>(column.rows()), kNan);
  const WindowMoments moments(column.calm, plan.length);
  std::vector<double> nearest(static_cast<size_t>(count), std::numeric_limits<double>::infinity());
  const int64_t normal = std::clamp<int64_t>(plan.learn - plan.length + 1, 1, count);
  DiagonalWalk walk(column.calm, plan.length, moments, static_cast<size_t>(normal), &nearest);
  const int64_t last = std::min(count - 1, std::max(reach, apart));
  for (int64_t lag = apart; lag <= last; lag += kLanes)
    walk.Walk(static_cast<size_t>(lag), static_cast<size_t>(std::min(kLanes, last - lag + 1)));
  for (int64_t i = 0; i < count; ++i) {
    double& d = nearest[static_cast<size_t>(i)];
    const bool scored = std::isfinite(d) && column.Known(i, i + plan.length);
    d = scored ? std::sqrt(std::max(d, 0.0) / static_cast<double>(plan.length)) : kNan;
  }
  return ToRows(nearest, column.rows(), plan);
}

Subspace FitShapes(const Column& normal, int64_t length) {
  return FitWindows(normal, Pieces(length), length, 0, std::max<int64_t>(0, normal.rows() - length + 1));
}

std::vector<double> ShapeScores(const Column& column, int64_t length, const Subspace& shapes, int64_t from) {
  std::vector<double> scores(static_cast<size_t>(column.rows()), kNan), open;
  const Pieces pieces(length);
  std::vector<double> x(static_cast<size_t>(pieces.count()));
  for (int64_t t = std::max(from, length - 1); t < column.rows(); ++t) {
    if (!column.Known(t + 1 - length, t + 1)) continue;
    pieces.Of(OpenWindow(column, t + 1 - length, length, &open), x.data());
    scores[static_cast<size_t>(t)] = std::sqrt(shapes.Distance(x));
  }
  return scores;
}

ProfileReference::ProfileReference(const Column& normal, int64_t length, int64_t most) : length_(length) {
  const int64_t windows = std::min(normal.rows() - length + 1, most);
  if (windows < 1) return;
  first_ = normal.rows() - length + 1 - windows;
  z_.assign(normal.calm.begin() + first_, normal.calm.end());
  mean_.resize(static_cast<size_t>(windows)), squares_.resize(static_cast<size_t>(windows));
  for (size_t i = 0; i < mean_.size(); ++i)
    std::tie(mean_[i], squares_[i]) = MomentsOf(std::span(z_).subspan(i, static_cast<size_t>(length)));
}

// Products of all windows with the one that ends with `row`, but for its open rows: anew, or from those of
// the row before.
void ProfileReference::Walk(const Column& column, size_t row, bool anew,
                            std::vector<double>* products) const {
  const std::vector<double>& calm = column.calm;
  const size_t m = static_cast<size_t>(length_), closed = m - std::min<size_t>(m, kStreamOpen);
  const size_t begin = row + 1 - m;
  std::vector<double>& p = *products;
  const auto dot = [&](size_t i) {
    double sum = 0;
    for (size_t k = 0; k < closed; ++k) sum += z_[i + k] * calm[begin + k];
    return sum;
  };
  if (anew) {
    for (size_t i = 0; i < p.size(); ++i) p[i] = dot(i);
    return;
  }
  if (closed > 0) {
    const double in = calm[begin + closed - 1], out = calm[begin - 1];
    for (size_t i = p.size(); i-- > 1;) p[i] = p[i - 1] + (z_[i + closed - 1] * in - z_[i - 1] * out);
  }
  p[0] = dot(0);
}

std::vector<double> ProfileReference::Scores(const Column& column, int64_t base, int64_t from) const {
  std::vector<double> scores(static_cast<size_t>(column.rows()), kNan), open;
  if (mean_.empty()) return scores;
  const double m = static_cast<double>(length_);
  const size_t closed = static_cast<size_t>(length_ - std::min(length_, kStreamOpen));
  const int64_t apart = (length_ + 1) / 2, anchor = (base + from) / kAnchor * kAnchor - base;
  std::vector<double> products(mean_.size());
  bool anew = true;
  for (int64_t t = std::max(anchor, length_ - 1); t < column.rows(); ++t) {
    Walk(column, static_cast<size_t>(t), anew || (base + t) % kAnchor == 0, &products);
    anew = false;
    const int64_t begin = t + 1 - length_;
    if (t < from || !column.Known(begin, t + 1)) continue;
    const auto window = OpenWindow(column, begin, length_, &open);
    double mean, squares;
    std::tie(mean, squares) = MomentsOf(window);
    const auto nearest_of = [&](int64_t i, int64_t end) {
      double nearest = std::numeric_limits<double>::infinity();
      for (; i < end; ++i) {
        const size_t w = static_cast<size_t>(i);
        double product = products[w];
        for (size_t k = closed; k < window.size(); ++k) product += z_[w + k] * window[k];
        nearest = std::min(nearest, squares + squares_[w] - 2 * (product - m * mean * mean_[w]));
      }
      return nearest;
    };
    // Those well before it, and those well behind it.
    const int64_t count = static_cast<int64_t>(mean_.size()), at = base + begin - first_;
    const double nearest = std::min(nearest_of(0, std::clamp<int64_t>(at - apart + 1, 0, count)),
                                    nearest_of(std::clamp<int64_t>(at + apart, 0, count), count));
    if (std::isfinite(nearest)) scores[static_cast<size_t>(t)] = std::sqrt(std::max(nearest, 0.0) / m);
  }
  return scores;
}

}  // namespace plinth::detect
