#include "plinth/ops/cumsum/cpu.h"

namespace plinth::ops::PLINTH_KERNEL_LEVEL {
namespace {

// `width` scans side by side, `n` steps of x_step and y_step each; columns are x_column apart. `width` is
// at most kScanColumns, and 1 where the axis is the last dimension. y may be x.
template <typename T, typename Sum>
struct Scan {
  const T* x;
  T* y;
  int64_t n, x_step, y_step, x_column, y_column, width;
  bool exclusive;

  void One() const {
    Sum sum = 0;
    for (int64_t i = 0; i < n; ++i) {
      const Sum before = sum;
      sum += static_cast<Sum>(x[i * x_step]);
      y[i * y_step] = static_cast<T>(exclusive ? before : sum);
    }
  }
  void Many() const {
    Sum sums[kScanColumns] = {};
    for (int64_t i = 0; i < n; ++i) {
      const T* from = x + i * x_step;
      T* to = y + i * y_step;
      for (int64_t c = 0; c < width; ++c) {
        const Sum before = sums[c];
        sums[c] += static_cast<Sum>(from[c * x_column]);
        to[c * y_column] = static_cast<T>(exclusive ? before : sums[c]);
      }
    }
  }
  // The same for contiguous columns, which can be vectorised.
  void ManyContiguous() const {
    Sum sums[kScanColumns] = {};
    for (int64_t i = 0; i < n; ++i) {
      const T* from = x + i * x_step;
      T* to = y + i * y_step;
#pragma omp simd
      for (int64_t c = 0; c < width; ++c) {
        const Sum before = sums[c], after = before + static_cast<Sum>(from[c]);
        to[c] = static_cast<T>(exclusive ? before : after);
        sums[c] = after;
      }
    }
  }
  void Run() const {
    if (width == 1) {
      One();
    } else if (x_column == 1 && y_column == 1) {
      ManyContiguous();
    } else {
      Many();
    }
  }
};

template <typename T, typename Sum>
void Cumsum(const CpuArgs& args, int64_t begin, int64_t end) {
  const auto& p = *static_cast<const CumsumParams*>(args.params);
  const View &x = args.in[0], &y = args.out[0];
  const ScanGrid g = GridOf(x, p.axis);
  const int last = x.rank - 1;
  const int64_t n = x.dims[p.axis];
  if (n == 0) return;
  const int64_t stop = end * g.per_piece < g.units ? end * g.per_piece : g.units;
  for (int64_t unit = begin * g.per_piece; unit < stop; ++unit) {
    const int64_t column = unit % g.blocks * kScanColumns;
    int64_t rest = unit / g.blocks;
    int64_t from = p.axis == last ? 0 : column * x.strides[last];
    int64_t to = p.axis == last ? 0 : column * y.strides[last];
    for (int d = last - 1; d >= 0; --d) {
      if (d == p.axis) continue;
      from += rest % x.dims[d] * x.strides[d];
      to += rest % x.dims[d] * y.strides[d];
      rest /= x.dims[d];
    }
    const int64_t x_step = x.strides[p.axis], y_step = y.strides[p.axis];
    if (p.reverse) {
      from += (n - 1) * x_step;
      to += (n - 1) * y_step;
    }
    const int64_t left = g.columns - column;
    const Scan<T, Sum> scan{static_cast<const T*>(x.data) + from,
                            static_cast<T*>(y.data) + to,
                            n,
                            p.reverse ? -x_step : x_step,
                            p.reverse ? -y_step : y_step,
                            x.strides[last],
                            y.strides[last],
                            left < kScanColumns ? left : kScanColumns,
                            p.exclusive};
    scan.Run();
  }
}

}  // namespace

void CumsumF32(const CpuArgs& args, int64_t begin, int64_t end) { Cumsum<float, double>(args, begin, end); }
void CumsumI32(const CpuArgs& args, int64_t begin, int64_t end) {
  Cumsum<int32_t, uint32_t>(args, begin, end);
}
void CumsumI64(const CpuArgs& args, int64_t begin, int64_t end) {
  Cumsum<int64_t, uint64_t>(args, begin, end);
}

}  // namespace plinth::ops::PLINTH_KERNEL_LEVEL
