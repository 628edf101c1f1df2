// Declares the CPU kernels of linear.
#pragma once

#include "plinth/ops/cpu_kernel.h"
#include "plinth/ops/linear/activation.h"

namespace plinth::ops {

struct LinearParams {
  Activation activation;
};

PLINTH_DECLARE_CPU(LinearF32)
// Packs in[1] (f32 [N, K]) into `scratch`, as LinearF32 expects it in `prepared`; not a kernel of the
// operator.
PLINTH_DECLARE_CPU(LinearPackF32)

// Finishes rows [begin, end) of the output from their sums at `scratch` (rows of the weight's N floats, and
// a panel that may be read beyond), as LinearF32 would; not for swiglu. Not a kernel either.
PLINTH_DECLARE_CPU(LinearFinishF32)

}  // namespace plinth::ops
