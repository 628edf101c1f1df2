// Says whether the models of the settings are proven here, and proves those that are not by `plinth accept`.
#pragma once

#include "plinth/base/context.h"
#include "plinth/base/status.h"
#include "plinth/server/settings.h"

namespace plinth::app {

// Asks the gate about each model, prints what it says, one line each, and serves nothing. With `prove` it
// runs `plinth accept`, the program beside this one, for those without evidence and those whose evidence is
// for another state; never for one that is known to compute wrong, since asking again until it passes proves
// nothing. A model folder that holds accept.toml is accepted by that recipe. Returns the exit code: 0 where
// all are proven, else 4. Errors: those of loading a model; Unavailable where plinth cannot be started.
StatusOr<int> ProveModels(const server::Settings& settings, const Context& context, bool prove);

}  // namespace plinth::app
