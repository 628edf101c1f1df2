#include "plinth/ops/softmax/cpu.h"

#include "plinth/ops/row_pieces.h"
#include "plinth/ops/vector_math.h"

namespace plinth::ops::PLINTH_KERNEL_LEVEL {

void SoftmaxF32(const CpuArgs& args, int64_t begin, int64_t end) {
  const int64_t n = args.in[0].last();
  for (int64_t row : RowsOf(args.in[0], begin, end)) {
    const float* x = Row<const float>(args.in[0], row);
    float* y = Row<float>(args.out[0], row);
    float top = -__builtin_inff();
#pragma omp simd reduction(max : top)
    for (int64_t i = 0; i < n; ++i) top = x[i] > top ? x[i] : top;
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < n; ++i) {
      const float e = Exp(x[i] - top);  // inf - inf and NaN give NaN, which the sum spreads
      y[i] = e;
      sum += e;
    }
    const float scale = 1.0f / sum;
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) y[i] *= scale;
  }
}

}  // namespace plinth::ops::PLINTH_KERNEL_LEVEL
