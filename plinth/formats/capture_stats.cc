#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <type_traits>

#include "plinth/formats/capture.h"
#include "plinth/tensor/half.h"

namespace plinth::formats {
namespace {

constexpr int64_t kBlock = 1024;  // elements; as doubles they stay in the first-level cache

float AsNumber(Half h) { return ToFloat(h); }
float AsNumber(BFloat16 h) { return ToFloat(h); }
template <typename T>
T AsNumber(T value) {
  return value;
}
struct BoolByte {
  uint8_t byte;
};
int AsNumber(BoolByte b) { return b.byte != 0 ? 1 : 0; }

// The smallest normal number of a type; 0 for types without subnormal numbers.
template <typename T>
constexpr double kSmallestNormal = 0;
template <>
constexpr double kSmallestNormal<double> = std::numeric_limits<double>::min();
template <>
constexpr double kSmallestNormal<float> = 0x1p-126;
template <>
constexpr double kSmallestNormal<BFloat16> = 0x1p-126;
template <>
constexpr double kSmallestNormal<Half> = 0x1p-14;

// Merges blocks of finite numbers. Squares of doubles near the end of their range need the wider exponent.
class Moments {
 public:
  explicit Moments(TensorStats* stats) : stats_(stats) {}

  // Finite numbers alone.
  void Add(const double* x, int64_t n) {
    if (n == 0) return;
    double low = x[0], high = x[0];
    long double sum = 0;
    for (int64_t i = 0; i < n; ++i) {
      low = x[i] < low ? x[i] : low;
      high = x[i] > high ? x[i] : high;
    }
    const bool narrow = std::max(std::fabs(low), std::fabs(high)) < 0x1p500;
    const long double m2 = narrow ? Sums<double>(x, n, &sum) : Sums<long double>(x, n, &sum);
    const long double mean = sum / static_cast<long double>(n);
    const long double count = static_cast<long double>(n_), total = count + static_cast<long double>(n);
    const long double delta = mean - mean_;
    m2_ += m2 + delta * delta * count * static_cast<long double>(n) / total;
    mean_ += delta * static_cast<long double>(n) / total;
    stats_->min = n_ == 0 ? low : std::min(stats_->min, low);
    stats_->max = n_ == 0 ? high : std::max(stats_->max, high);
    n_ += n;
  }

  void Finish() {
    if (n_ == 0) return;
    const auto narrow = [](long double v) {
      constexpr long double kMost = std::numeric_limits<double>::max();
      return static_cast<double>(std::clamp(v, -kMost, kMost));
    };
    stats_->mean = std::clamp(narrow(mean_), stats_->min, stats_->max);
    stats_->std = narrow(std::sqrt(m2_ / static_cast<long double>(n_)));
    stats_->l2 = narrow(std::sqrt(squares_));
  }

 private:
  // The sum of f(x) in lanes, which the processor adds side by side.
  template <typename Real, typename F>
  static Real Sum(const double* x, int64_t n, F f) {
    std::array<Real, 8> lanes{};
    constexpr int64_t kLanes = 8;
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
      for (int64_t lane = 0; lane < kLanes; ++lane) {
        lanes[static_cast<size_t>(lane)] += f(static_cast<Real>(x[i + lane]));
      }
    }
    for (; i < n; ++i) lanes[0] += f(static_cast<Real>(x[i]));
    return std::accumulate(lanes.begin(), lanes.end(), Real{0});
  }

  // The block's sum of squared deviations from its mean; adds its squares.
  template <typename Real>
  long double Sums(const double* x, int64_t n, long double* sum) {
    const Real total = Sum<Real>(x, n, [](Real v) { return v; });
    squares_ += Sum<Real>(x, n, [](Real v) { return v * v; });
    *sum = total;
    const Real mean = total / static_cast<Real>(n);
    return Sum<Real>(x, n, [mean](Real v) { return (v - mean) * (v - mean); });
  }

  TensorStats* stats_;
  int64_t n_ = 0;
  long double mean_ = 0, m2_ = 0, squares_ = 0;
};

// Counts and gathers elements, in their order in memory.
template <typename T>
class Gatherer {
 public:
  explicit Gatherer(TensorStats* stats) : stats_(stats), moments_(stats) {}

  // `count` elements, `stride` apart, at any alignment.
  void Add(const std::byte* from, int64_t count, int64_t stride) {
    for (int64_t done = 0; done < count;) {
      const int64_t n = std::min(count - done, kBlock - held_);
      Take(from + done * stride * static_cast<int64_t>(sizeof(T)), n, stride);
      done += n;
      if (held_ == kBlock) Flush();
    }
  }
  void Finish() {
    Flush();
    moments_.Finish();
  }

 private:
  void Take(const std::byte* from, int64_t n, int64_t stride) {
    double* const x = block_.data() + held_;
    double finite = 0;  // x - x is 0 for finite x and NaN else
    int64_t zero = 0, small = 0;
    for (int64_t i = 0; i < n; ++i) {
      T value;
      std::memcpy(&value, from + i * stride * static_cast<int64_t>(sizeof(T)), sizeof(T));
      const double v = static_cast<double>(AsNumber(value));
      x[i] = v;
      finite += v - v;
      zero += v == 0 ? 1 : 0;
      small += std::fabs(v) < kSmallestNormal<T> ? 1 : 0;
    }
    stats_->count += n;
    stats_->zero += zero;
    if (kSmallestNormal < T >> 0) stats_->subnormal += small - zero;
    held_ += finite == 0 ? n : Compact(x, n);
  }

  // Counts what is not finite and closes the gaps.
  int64_t Compact(double* x, int64_t n) {
    int64_t kept = 0;
    for (int64_t i = 0; i < n; ++i) {
      if (std::isfinite(x[i])) {
        x[kept++] = x[i];
      } else {
        ++(std::isnan(x[i]) ? stats_->nan : x[i] > 0 ? stats_->pos_inf : stats_->neg_inf);
      }
    }
    return kept;
  }

  void Flush() {
    stats_->finite += held_;
    moments_.Add(block_.data(), held_);
    held_ = 0;
  }

  TensorStats* stats_;
  Moments moments_;
  std::array<double, kBlock> block_;
  int64_t held_ = 0;
};

// Walks all dimensions but the last.
template <typename T>
void AddView(const View& view, int dim, const std::byte* at, Gatherer<T>* gatherer) {
  if (dim + 1 >= view.rank) {
    const bool scalar = view.rank == 0;
    return gatherer->Add(at, scalar ? 1 : view.dims[dim], scalar ? 1 : view.strides[dim]);
  }
  for (int64_t i = 0; i < view.dims[dim]; ++i) {
    AddView(view, dim + 1, at + i * view.strides[dim] * static_cast<int64_t>(sizeof(T)), gatherer);
  }
}

template <typename T>
TensorStats StatsAs(const View& view) {
  TensorStats stats;
  Gatherer<T> gatherer(&stats);
  const auto* data = static_cast<const std::byte*>(view.data);
  if (view.dense()) {
    gatherer.Add(data, view.size(), 1);
  } else {
    AddView(view, 0, data, &gatherer);
  }
  gatherer.Finish();
  return stats;
}

}  // namespace

TensorStats StatsOf(const View& view) {
  switch (view.dtype) {
    case DType::kF64:
      return StatsAs<double>(view);
    case DType::kF32:
      return StatsAs<float>(view);
    case DType::kF16:
      return StatsAs<Half>(view);
    case DType::kBF16:
      return StatsAs<BFloat16>(view);
    case DType::kI64:
      return StatsAs<int64_t>(view);
    case DType::kI32:
      return StatsAs<int32_t>(view);
    case DType::kI16:
      return StatsAs<int16_t>(view);
    case DType::kI8:
      return StatsAs<int8_t>(view);
    case DType::kU8:
      return StatsAs<uint8_t>(view);
    case DType::kBool:
      return StatsAs<BoolByte>(view);
  }
  return {};
}

TensorStats StatsOf(const ConstTensorRef& tensor) {
  const int64_t size = tensor.size();
  return StatsOf(DenseView(const_cast<std::byte*>(tensor.data), tensor.dtype, &size, 1));
}

}  // namespace plinth::formats
