// Declares plinth-ts, our own small forecaster: a patch encoder that is given what a seasonal method
// would say and learns when to trust it.
#pragma once

#include <memory>

#include "plinth/models/model.h"

namespace plinth::models {

// Errors: InvalidArgument naming the key of config.json, what it is and what it can be.
StatusOr<std::unique_ptr<Model>> MakePlinthTs(const formats::Config& config);

}  // namespace plinth::models
