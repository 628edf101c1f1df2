// Declares the reference and the checks of rms_norm.
#pragma once

#include "plinth/ops/checks.h"

namespace plinth::ops {
void RmsNormReference(const OpCall& call, RefIo& io);
const OpChecks& RmsNormChecks();
}  // namespace plinth::ops
