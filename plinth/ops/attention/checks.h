// Declares the reference and the checks of attention.
#pragma once

#include "plinth/ops/checks.h"

namespace plinth::ops {
void AttentionReference(const OpCall& call, RefIo& io);
const OpChecks& AttentionChecks();
}  // namespace plinth::ops
