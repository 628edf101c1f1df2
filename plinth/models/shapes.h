// Knows the sizes of published models by name, so that their speed can be measured without their weights.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "plinth/formats/config.h"

namespace plinth::models {

// What config.json of the published model `name` says ("chronos-bolt-small"), as far as a network depends on
// it. Error: InvalidArgument for an unknown name (lists the known ones).
StatusOr<formats::Config> ShapeConfig(std::string_view name);

// All known names, alphabetically.
std::vector<std::string> ShapeNames();

}  // namespace plinth::models
