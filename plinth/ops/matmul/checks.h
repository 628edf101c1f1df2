// Declares the reference and the checks of matmul.
#pragma once

#include "plinth/ops/checks.h"

namespace plinth::ops {
void MatmulReference(const OpCall& call, RefIo& io);
const OpChecks& MatmulChecks();
}  // namespace plinth::ops
