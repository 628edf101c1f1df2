// Names what decides the bits of a forecast on this machine, part by part.
#pragma once

#include "plinth/engine/session.h"
#include "plinth/plan/identity.h"

namespace plinth::engine {

// Equal identities compute equal bits, whatever the sizes of batches and the number of threads. Parts:
//   model      sha256 over config.json and the weight files (ModelFolder::Digest)
//   graph      sha256 of the published network, without sizes
//   precision  f32
//   kernels    operator=kernel of each kernel that runs
//   isa        level of instructions of the kernels
//   libraries  those that compute numbers: oneDNN where a kernel is its, the C library's functions
//   flags      compiler and the flags that change numbers
//   device, driver
//   version    of Plinth
// Errors: those of reading the model's files; only of a session that was loaded from a folder.
StatusOr<plan::NumericsIdentity> IdentityOf(const Session& session);

}  // namespace plinth::engine
