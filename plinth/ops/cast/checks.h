// Declares the reference and the checks of cast.
#pragma once

#include "plinth/ops/checks.h"

namespace plinth::ops {
void CastReference(const OpCall& call, RefIo& io);
const OpChecks& CastChecks();
}  // namespace plinth::ops
