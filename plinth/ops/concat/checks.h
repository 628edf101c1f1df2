// Declares the reference and the checks of concat.
#pragma once

#include "plinth/ops/checks.h"

namespace plinth::ops {
void ConcatReference(const OpCall& call, RefIo& io);
const OpChecks& ConcatChecks();
}  // namespace plinth::ops
