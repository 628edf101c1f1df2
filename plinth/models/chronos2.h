// Declares Chronos-2, the encoder that forecasts series together with their covariates;
// docs/models/chronos-2.md defines it.
#pragma once

#include <memory>

#include "plinth/models/model.h"

namespace plinth::models {

// Makes the model that a config.json with the architecture "Chronos2Model" describes. Errors: InvalidArgument
// naming the key that is missing, out of range or asks for what the original cannot do either.
StatusOr<std::unique_ptr<Model>> MakeChronos2(const formats::Config& config);

}  // namespace plinth::models
