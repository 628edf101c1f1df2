// plinth serve: starts plinth-serve, the program beside this one that is the service.
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "apps/plinth/command.h"

namespace plinth::app {
namespace {

// Becomes `name` with `words`. Error: Unavailable where it is not installed.
StatusOr<int> Become(const std::string& name, const std::string& package, std::vector<std::string> words) {
  const std::string path = ProgramBeside(name);
  if (path.empty()) {
    return absl::UnavailableError(StrCat(
        "the program ", name, " is not beside this one; install the package ", package, ", or build it"));
  }
  words.insert(words.begin(), name);
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execv(path.c_str(), arguments.data());
  return absl::UnavailableError(StrCat(path, ": cannot be started: ", std::strerror(errno)));
}

}  // namespace

void AddServe(Program& program) {
  CLI::App* command = program.Add("serve", "serve models over HTTP and gRPC, each by its evidence");
  // Its options are that program's, --help too.
  command->set_help_flag();
  command->prefix_command();
  program.Run(command, [command] { return Become("plinth-serve", "plinth", command->remaining()); });
}

}  // namespace plinth::app
