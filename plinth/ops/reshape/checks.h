// Declares the reference and the checks of reshape.
#pragma once

#include "plinth/ops/checks.h"

namespace plinth::ops {
void ReshapeReference(const OpCall& call, RefIo& io);
const OpChecks& ReshapeChecks();
}  // namespace plinth::ops
