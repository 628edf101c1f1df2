// Says which commit the program was built from.
#pragma once

#include <string>

namespace plinth::app {

// As `git describe` names it ("v0.1.0-3-gcdb3161", "cdb31612a4d0-dirty"); "unknown" where it was built
// outside a repository. The file that defines it is written at each build by cmake/PlinthCommit.cmake.
std::string Commit();

}  // namespace plinth::app
