// Runs each function of vector_math.h over an array, compiled per instruction-set level for the test.
#include "plinth/ops/vector_math_sweep.h"

#include "plinth/ops/vector_math.h"

namespace plinth::ops::PLINTH_KERNEL_LEVEL {

#define PLINTH_SWEEP(fn)                                                     \
  void Sweep##fn(const float* x, float* y, int64_t n) {                      \
    _Pragma("omp simd") for (int64_t i = 0; i < n; ++i) { y[i] = fn(x[i]); } \
  }
PLINTH_VECTOR_FUNCTIONS(PLINTH_SWEEP)
#undef PLINTH_SWEEP

void SweepSinCos(const double* angle, float* sin, float* cos, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const SinCosPair p = SinCos(angle[i]);
    sin[i] = p.sin;
    cos[i] = p.cos;
  }
}

}  // namespace plinth::ops::PLINTH_KERNEL_LEVEL
