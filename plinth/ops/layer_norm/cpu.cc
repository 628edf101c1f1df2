#include "plinth/ops/layer_norm/cpu.h"

#include "plinth/ops/row_pieces.h"

namespace plinth::ops::PLINTH_KERNEL_LEVEL {
namespace {

// In double up to the one rounding of the normalised value: x - mean may overflow a float, and the scale
// of a tiny row does.
inline void NormaliseRow(const float* x, double mean, double scale, const float* weight, const float* bias,
                         float* y, int64_t n) {
  if (weight != nullptr && bias != nullptr) {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) {
      y[i] = static_cast<float>((static_cast<double>(x[i]) - mean) * scale) * weight[i] + bias[i];
    }
    return;
  }
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) y[i] = static_cast<float>((static_cast<double>(x[i]) - mean) * scale);
  if (weight != nullptr) {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) y[i] *= weight[i];
  }
  if (bias != nullptr) {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) y[i] += bias[i];
  }
}

}  // namespace

void LayerNormF32(const CpuArgs& args, int64_t begin, int64_t end) {
  const LayerNormParams& params = *static_cast<const LayerNormParams*>(args.params);
  const float* weight = static_cast<const float*>(args.in[1].data);
  const float* bias = static_cast<const float*>(args.in[2].data);
  const int64_t n = args.in[0].last();
  for (int64_t row : RowsOf(args.in[0], begin, end)) {
    const float* x = Row<const float>(args.in[0], row);
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < n; ++i) sum += static_cast<double>(x[i]);
    const double mean = sum / static_cast<double>(n);
    double squares = 0;
#pragma omp simd reduction(+ : squares)
    for (int64_t i = 0; i < n; ++i) {
      const double away = static_cast<double>(x[i]) - mean;
      squares += away * away;
    }
    const double scale = 1.0 / __builtin_sqrt(squares / static_cast<double>(n) + params.eps);
    NormaliseRow(x, mean, scale, weight, bias, Row<float>(args.out[0], row), n);
  }
}

}  // namespace plinth::ops::PLINTH_KERNEL_LEVEL
