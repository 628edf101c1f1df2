// Declares the CPU kernel of unary.
#pragma once

#include "plinth/ops/cpu_kernel.h"

namespace plinth::ops {

// The functions: attribute text and the name of its loop in cpu.cc. UnaryParams holds an index.
#define PLINTH_UNARY_FUNCTIONS(X) \
  X("abs", Abs)                   \
  X("asinh", Asinh)               \
  X("ceil", Ceil)                 \
  X("cos", Cos)                   \
  X("erf", Erf)                   \
  X("exp", Exp)                   \
  X("expm1", Expm1)               \
  X("floor", Floor)               \
  X("gelu", GeluExact)            \
  X("gelu_tanh", GeluTanh)        \
  X("log", Log)                   \
  X("log1p", Log1p)               \
  X("neg", Neg)                   \
  X("reciprocal", Reciprocal)     \
  X("relu", Relu)                 \
  X("round", Round)               \
  X("rsqrt", Rsqrt)               \
  X("sigmoid", Sigmoid)           \
  X("sign", Sign)                 \
  X("silu", Silu)                 \
  X("sin", Sin)                   \
  X("sinh", Sinh)                 \
  X("softplus", Softplus)         \
  X("sqrt", Sqrt)                 \
  X("square", Square)             \
  X("tanh", Tanh)

struct UnaryParams {
  int32_t function = 0;
};

PLINTH_DECLARE_CPU(UnaryF32)

}  // namespace plinth::ops
