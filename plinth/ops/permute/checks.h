// Declares the reference and the checks of permute.
#pragma once

#include "plinth/ops/checks.h"

namespace plinth::ops {
void PermuteReference(const OpCall& call, RefIo& io);
const OpChecks& PermuteChecks();
}  // namespace plinth::ops
