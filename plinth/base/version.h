// Holds the version of this build.
#pragma once

#include <string_view>

namespace plinth {

// As the top CMakeLists.txt says it. Not inline: the text stands once in a program.
extern const std::string_view kVersion;

}  // namespace plinth
