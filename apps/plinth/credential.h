// The key of encrypted model folders, as commands take it.
#pragma once

#include <string>

#include "CLI/CLI.hpp"
#include "plinth/base/status.h"

namespace plinth::app {

// Adds --credential FILE; the environment variable PLINTH_CREDENTIAL names the file, too.
void AddCredentialOption(CLI::App* command);
// The file that was named; empty where none was.
std::string CredentialFile();
// Lets model folders be opened with it. Call it after parsing. Errors: as formats::UseCredentialFile.
Status TakeCredential();
// Adds `encrypt` and `decrypt` below `plinth models`.
class Program;
void AddEncryption(Program& program, CLI::App* models);

}  // namespace plinth::app
