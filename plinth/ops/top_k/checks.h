// Declares the reference and the checks of top_k.
#pragma once

#include "plinth/ops/checks.h"

namespace plinth::ops {
void TopKReference(const OpCall& call, RefIo& io);
const OpChecks& TopKChecks();
}  // namespace plinth::ops
