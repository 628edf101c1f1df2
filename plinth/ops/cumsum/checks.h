// Declares the reference and the checks of cumsum.
#pragma once

#include "plinth/ops/checks.h"

namespace plinth::ops {
void CumsumReference(const OpCall& call, RefIo& io);
const OpChecks& CumsumChecks();
}  // namespace plinth::ops
