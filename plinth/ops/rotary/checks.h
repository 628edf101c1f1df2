// Declares the reference and the checks of rotary.
#pragma once

#include "plinth/ops/checks.h"

namespace plinth::ops {
void RotaryReference(const OpCall& call, RefIo& io);
const OpChecks& RotaryChecks();
}  // namespace plinth::ops
