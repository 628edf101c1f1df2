#include "apps/installation.h"

#include <unistd.h>

#include <cstdlib>

#include "plinth/base/files.h"
#include "plinth/base/text.h"

namespace plinth::app {
namespace {

// Ends in a slash; empty for the working folder.
std::string FolderOfProgram() {
  const std::string program = ExecutablePath();
  return program.substr(0, program.rfind('/') + 1);
}

}  // namespace

std::string ExecutablePath() {
  std::string program(4096, '\0');
  const ssize_t length = readlink("/proc/self/exe", program.data(), program.size());
  program.resize(length > 0 ? static_cast<size_t>(length) : 0);
  return program;
}

std::string RealPath(const std::string& path) {
  char* resolved = realpath(path.c_str(), nullptr);
  std::string real = resolved == nullptr ? "" : resolved;
  std::free(resolved);
  return real;
}

std::string ProgramBeside(const std::string& name) {
  const std::string path = FolderOfProgram() + name;
  return access(path.c_str(), X_OK) == 0 ? path : "";
}

StatusOr<std::string> ShippedModel() {
  constexpr const char* kName = "plinth-ts-0";
  const std::string folder = FolderOfProgram();
  // Beside an installation's bin, and above a build folder of the source tree.
  const std::string places[] = {folder + "../share/plinth/models/" + kName, folder + "../../models/" + kName};
  for (const std::string& place : places) {
    if (!FileExists(place + "/config.json")) continue;
    const std::string path = RealPath(place);
    return path.empty() ? place : path;
  }
  return absl::NotFoundError(StrCat("the shipped model ", kName, " was not found in ", places[0], " or ",
                                    places[1], "; name a model folder with --model"));
}

}  // namespace plinth::app
