// Shows an environment, and what differs between two, to people.
#pragma once

#include <string>

#include "plinth/evidence/environment.h"
#include "plinth/evidence/environment_diff.h"

namespace plinth::app {

// Findings first, then what the machine is, grouped; cards that are alike share a line.
std::string EnvironmentText(const evidence::Environment& environment);

// Every fact with its sources, one a line.
std::string AllFactsText(const evidence::Environment& environment);

// Grouped by what a difference can do, then by why.
std::string DiffText(const evidence::EnvironmentDiff& diff);

}  // namespace plinth::app
