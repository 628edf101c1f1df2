// Declares the reference and the checks of layer_norm.
#pragma once

#include "plinth/ops/checks.h"

namespace plinth::ops {
void LayerNormReference(const OpCall& call, RefIo& io);
const OpChecks& LayerNormChecks();
}  // namespace plinth::ops
