// Declares the reference and the checks of reduce.
#pragma once

#include "plinth/ops/checks.h"

namespace plinth::ops {
// The flat position of the output that element `i` of `x` contributes to.
int64_t ReducedPosition(const OpCall& call, const RefTensor& x, int64_t i);
void ReduceReference(const OpCall& call, RefIo& io);
const OpChecks& ReduceChecks();
}  // namespace plinth::ops
