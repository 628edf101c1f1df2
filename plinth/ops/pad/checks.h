// Declares the reference and the checks of pad.
#pragma once

#include "plinth/ops/checks.h"

namespace plinth::ops {
void PadReference(const OpCall& call, RefIo& io);
const OpChecks& PadChecks();
}  // namespace plinth::ops
