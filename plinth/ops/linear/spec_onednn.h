// Declares the variant of linear that calls oneDNN.
#pragma once

#include "plinth/ops/op_spec.h"

namespace plinth::ops {

// Products in fixed sizes by oneDNN, finished by our own epilogue. Refuses where a row's bits would depend
// on the batch. `params` is that of linear.
CpuKernel LinearOneDnnKernel(Params (*params)(const OpCall&));

}  // namespace plinth::ops
