// Declares the reference and the checks of binary.
#pragma once

#include "plinth/ops/checks.h"

namespace plinth::ops {
void BinaryReference(const OpCall& call, RefIo& io);
const OpChecks& BinaryChecks();
}  // namespace plinth::ops
