// Declares the reference and the checks of gather.
#pragma once

#include "plinth/ops/checks.h"

namespace plinth::ops {
void GatherReference(const OpCall& call, RefIo& io);
const OpChecks& GatherChecks();
}  // namespace plinth::ops
