// Says what is wrong with a command line in our own words.
#pragma once

#include <string>

#include "CLI/CLI.hpp"

namespace plinth::app {

// One line: what was found, what would be right, and where the help is.
std::string UsageMessage(const CLI::ParseError& error, const CLI::App& app);

}  // namespace plinth::app
