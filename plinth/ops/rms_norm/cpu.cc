#include "plinth/ops/rms_norm/cpu.h"

#include "plinth/ops/row_pieces.h"

namespace plinth::ops::PLINTH_KERNEL_LEVEL {
namespace {

// y = x * scale * weight. In float where the scale is an ordinary float; in double at the ends of the
// range, where the scale would overflow or lose bits though the products do not.
template <typename T>
inline __attribute__((always_inline)) void ScaleRow(const float* x, const float* weight, T scale, float* y,
                                                    int64_t n) {
  if (weight == nullptr) {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) y[i] = static_cast<float>(static_cast<T>(x[i]) * scale);
  } else {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) {
      y[i] = static_cast<float>(static_cast<T>(x[i]) * scale * static_cast<T>(weight[i]));
    }
  }
}

}  // namespace

void RmsNormF32(const CpuArgs& args, int64_t begin, int64_t end) {
  const RmsNormParams& params = *static_cast<const RmsNormParams*>(args.params);
  const float* weight = static_cast<const float*>(args.in[1].data);
  const int64_t n = args.in[0].last();
  for (int64_t row : RowsOf(args.in[0], begin, end)) {
    const float* x = Row<const float>(args.in[0], row);
    float* y = Row<float>(args.out[0], row);
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < n; ++i) sum += static_cast<double>(x[i]) * static_cast<double>(x[i]);
    const double scale = 1.0 / __builtin_sqrt(sum / static_cast<double>(n) + params.eps);
    if (scale > 0x1p-100 && scale < 0x1p100) {
      ScaleRow(x, weight, static_cast<float>(scale), y, n);
    } else {
      ScaleRow(x, weight, scale, y, n);
    }
  }
}

}  // namespace plinth::ops::PLINTH_KERNEL_LEVEL
