// Declares the reference and the checks of unary.
#pragma once

#include "plinth/ops/checks.h"

namespace plinth::ops {
void UnaryReference(const OpCall& call, RefIo& io);
const OpChecks& UnaryChecks();
}  // namespace plinth::ops
