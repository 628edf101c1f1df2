// Holds the version of this build.
#pragma once

#include <string_view>

namespace plinth {

inline constexpr std::string_view kVersion = PLINTH_VERSION;

}  // namespace plinth
