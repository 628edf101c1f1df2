// Declares the CPU kernels of binary.
#pragma once

#include "plinth/ops/cpu_kernel.h"

namespace plinth::ops {

// In the order of the tables in cpu.cc and of the names in spec.cc.
enum class BinaryFunction : int32_t { kAdd, kSub, kMul, kMin, kMax, kDiv, kPow };
inline constexpr int kBinaryFunctions = 7;

struct BinaryParams {
  BinaryFunction function = BinaryFunction::kAdd;
};

PLINTH_DECLARE_CPU(BinaryF32)
PLINTH_DECLARE_CPU(BinaryF64)
PLINTH_DECLARE_CPU(BinaryI32)
PLINTH_DECLARE_CPU(BinaryI64)

}  // namespace plinth::ops
