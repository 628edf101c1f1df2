// Finds what is installed together with the running program.
#pragma once

#include <string>

#include "plinth/base/status.h"

namespace plinth::app {

// The path of the running executable; empty where the system does not tell.
std::string ExecutablePath();
// Empty where there is no such file.
std::string RealPath(const std::string& path);
// The program `name` beside the running one; empty where there is none.
std::string ProgramBeside(const std::string& name);

// The folder of the model that is shipped with the program. Error: NotFound naming where it was looked for.
StatusOr<std::string> ShippedModel();

}  // namespace plinth::app
