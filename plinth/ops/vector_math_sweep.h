// Declares loops over the functions of vector_math.h, one set per instruction-set level, for the test.
#pragma once

#include <cstdint>

// Every float function of vector_math.h; `X` is applied to each name.
#define PLINTH_VECTOR_FUNCTIONS(X) \
  X(Exp)                           \
  X(Expm1)                         \
  X(Log)                           \
  X(Log1p)                         \
  X(Tanh)                          \
  X(Sigmoid)                       \
  X(Silu)                          \
  X(Softplus)                      \
  X(Erf)                           \
  X(GeluExact)                     \
  X(GeluTanh)                      \
  X(Sinh)                          \
  X(Asinh)                         \
  X(Sqrt)

#define PLINTH_DECLARE_SWEEP(fn) void Sweep##fn(const float* x, float* y, int64_t n);
#define PLINTH_DECLARE_SWEEPS(level)                                        \
  namespace plinth::ops::level {                                            \
  PLINTH_VECTOR_FUNCTIONS(PLINTH_DECLARE_SWEEP)                             \
  void SweepSinCos(const double* angle, float* sin, float* cos, int64_t n); \
  }
PLINTH_DECLARE_SWEEPS(v2)
PLINTH_DECLARE_SWEEPS(v3)
PLINTH_DECLARE_SWEEPS(v4)
#undef PLINTH_DECLARE_SWEEPS
#undef PLINTH_DECLARE_SWEEP
