// Names what decides the bits of a forecast on this machine, as one digest.
#pragma once

#include <string>

#include "plinth/engine/session.h"

namespace plinth::engine {

// sha256 over the model's digest, the plan's operators, kernels and types (without sizes), the instruction
// set and Plinth's version: equal identities compute equal bits. Errors: those of reading the model's files.
StatusOr<std::string> NumericsIdentity(const Session& session);

}  // namespace plinth::engine
