#include "plinth/detect/windows.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "plinth/detect/subspace.h"

namespace plinth::detect {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr int64_t kMostNumbers = 32;
constexpr int64_t kLanes = 8;  // diagonals that are walked side by side

// Running sums of a column, for means of any of its rows.
std::vector<double> Sums(const std::vector<double>& z) {
  std::vector<double> sums(z.size() + 1);
  for (size_t t = 0; t < z.size(); ++t) sums[t + 1] = sums[t] + z[t];
  return sums;
}

// Averages windows down to a fixed number of pieces (Keogh et al. 2001: PAA).
class Pieces {
 public:
  Pieces(const Column& column, int64_t length)
      : sums_(Sums(column.calm)), length_(length), count_(std::min(length, kMostNumbers)) {}
  int64_t count() const { return count_; }
  void Of(int64_t begin, double* out) const {
    for (int64_t k = 0; k < count_; ++k) {
      const int64_t from = begin + k * length_ / count_, to = begin + (k + 1) * length_ / count_;
      out[k] = (sums_[static_cast<size_t>(to)] - sums_[static_cast<size_t>(from)]) /
               static_cast<double>(to - from);
    }
  }

 private:
  std::vector<double> sums_;
  int64_t length_, count_;
};

// Squared lengths of all windows with their means taken off.
struct WindowMoments {
  std::vector<double> mean, squares;
  WindowMoments(const std::vector<double>& z, int64_t length) {
    const size_t count = z.size() - static_cast<size_t>(length) + 1;
    mean.resize(count), squares.resize(count);
    for (size_t i = 0; i < count; ++i) {
      // Afresh for each window: differences of running sums would keep the error of a spike for ever.
      double sum = 0, square = 0;
      for (size_t k = 0; k < static_cast<size_t>(length); ++k) sum += z[i + k];
      mean[i] = sum / static_cast<double>(length);
      for (size_t k = 0; k < static_cast<size_t>(length); ++k)
        square += (z[i + k] - mean[i]) * (z[i + k] - mean[i]);
      squares[i] = square;
    }
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
    pieces.Of(i, samples.data() + samples.size() - d);
  }
  return Subspace::Fit(samples, pieces.count());
}

std::vector<double> SubPcaScore(const Column& column, const WindowPlan& plan) {
  const int64_t count = column.rows() - plan.length + 1;
  if (count < 1) return std::vector<double>(static_cast<size_t>(column.rows()), kNan);
  const Pieces pieces(column, plan.length);
  const int64_t learn = std::clamp<int64_t>(plan.learn - plan.length + 1, 1, count);
  std::vector<double> windows(static_cast<size_t>(count), kNan), x(static_cast<size_t>(pieces.count()));
  const auto score = [&](const Subspace& subspace, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      if (!column.Known(i, i + plan.length)) continue;
      pieces.Of(i, x.data());
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

}  // namespace plinth::detect
