// Declares the reference and the checks of slice.
#pragma once

#include "plinth/ops/checks.h"

namespace plinth::ops {
void SliceReference(const OpCall& call, RefIo& io);
const OpChecks& SliceChecks();
}  // namespace plinth::ops
