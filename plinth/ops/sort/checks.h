// Declares the reference and the checks of sort.
#pragma once

#include "plinth/ops/checks.h"

namespace plinth::ops {
void SortReference(const OpCall& call, RefIo& io);
const OpChecks& SortChecks();
}  // namespace plinth::ops
