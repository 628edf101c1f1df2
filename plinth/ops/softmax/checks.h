// Declares the reference and the checks of softmax.
#pragma once

#include "plinth/ops/checks.h"

namespace plinth::ops {
void SoftmaxReference(const OpCall& call, RefIo& io);
const OpChecks& SoftmaxChecks();
}  // namespace plinth::ops
