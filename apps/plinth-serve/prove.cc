#include "apps/plinth-serve/prove.h"

#include <spawn.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "apps/installation.h"
#include "plinth/base/files.h"
#include "plinth/evidence/keys.h"
#include "plinth/server/service.h"

extern char** environ;

namespace plinth::app {
namespace {

using server::ModelSetting;
using server::Service;
using server::Settings;

// In a model folder: how it wants to be accepted.
constexpr char kRecipeFile[] = "accept.toml";

// A service of its own for each look: the model does not stay in memory while plinth accept runs, and a key
// that was made meanwhile is known. API keys are read too, so that a wrong file of them is found here.
StatusOr<evidence::GateResult> AskGate(const ModelSetting& model, const Settings& settings,
                                       const Context& context) {
  Service::Parts parts;
  parts.settings = settings;
  parts.settings.allow_unproven = true;  // to be told of the state instead of an error
  parts.settings.state_folder.clear();   // nothing is to be written
  parts.settings.log_level = "off";
  parts.context = context;
  parts.key_folder = evidence::KeyFolder().value_or("");
  PLINTH_ASSIGN_OR_RETURN(const std::unique_ptr<Service> service, Service::Make(std::move(parts)));
  PLINTH_ASSIGN_OR_RETURN(const server::ModelPtr loaded, service->models().Load(model));
  return loaded->gate;
}

void Say(const ModelSetting& model, std::string_view state, std::string_view sentence) {
  std::string line = StrCat("model ", model.name, ": ", state, ": ", sentence);
  for (char& c : line) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);  // before what a child prints
}

// Runs it to its end; what it prints goes where ours goes.
StatusOr<int> RunProgram(const std::string& path, const std::vector<std::string>& words) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  pid_t child = 0;
  const int error = posix_spawn(&child, path.c_str(), nullptr, nullptr, arguments.data(), environ);
  if (error != 0) return absl::UnavailableError(StrCat(path, ": cannot be started: ", std::strerror(error)));
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return absl::UnavailableError(StrCat(path, ": ", std::strerror(errno)));
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

StatusOr<int> Accept(const ModelSetting& model, const Settings& settings) {
  const std::string program = ProgramBeside("plinth");
  if (program.empty()) {
    return absl::UnavailableError(
        "the program plinth, which proves models, is not beside this one; install the "
        "package plinth again");
  }
  std::vector<std::string> words = {"plinth", "accept"};
  const std::string recipe = JoinPath(model.path, kRecipeFile);
  words.insert(words.end(), {"--model", model.path});
  if (FileExists(recipe)) words.insert(words.end(), {"--config", recipe});
  if (!settings.evidence_folder.empty()) words.insert(words.end(), {"--evidence", settings.evidence_folder});
  if (const std::string key = CredentialFile(settings); !key.empty()) {
    setenv("PLINTH_CREDENTIAL", key.c_str(), /*replace=*/1);
  }
  return RunProgram(program, words);
}

}  // namespace

StatusOr<int> ProveModels(const Settings& settings, const Context& context, bool prove) {
  using evidence::State;
  bool all = true;
  for (const ModelSetting& model : settings.models) {
    PLINTH_ASSIGN_OR_RETURN(evidence::GateResult gate, AskGate(model, settings, context));
    const bool may_prove = gate.state == State::kUnproven || gate.state == State::kStale;
    if (prove && may_prove) {
      Say(model, evidence::StateName(gate.state), StrCat(gate.sentence, "; accepting it now"));
      PLINTH_ASSIGN_OR_RETURN(const int code, Accept(model, settings));
      if (code != 0) Say(model, "not proven", StrCat("plinth accept ended with ", code));
      PLINTH_ASSIGN_OR_RETURN(gate, AskGate(model, settings, context));
    }
    const std::string mend = gate.state == State::kProven || gate.command.empty()
                                 ? ""
                                 : StrCat("; to prove it, run: ", gate.command);
    Say(model, evidence::StateName(gate.state), StrCat(gate.sentence, mend));
    all = all && gate.state == State::kProven;
  }
  return all ? 0 : 4;
}

}  // namespace plinth::app
