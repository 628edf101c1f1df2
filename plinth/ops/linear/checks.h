// Declares the reference and the checks of linear.
#pragma once

#include "plinth/ops/checks.h"

namespace plinth::ops {
void LinearReference(const OpCall& call, RefIo& io);
const OpChecks& LinearChecks();
}  // namespace plinth::ops
