// The order in which facts are collected.
#include <ctime>

#include "plinth/base/clock.h"
#include "plinth/base/text.h"
#include "plinth/evidence/environment.h"
#include "plinth/evidence/environment_subjects.h"
#include "plinth/evidence/python_packages.h"
#include "plinth/evidence/text_fields.h"

namespace plinth::evidence {
namespace {

std::string Now() {
  const std::time_t seconds = Clock::System().Wall() / 1'000'000'000;
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[32];
  return std::string(text, std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts));
}

Status CheckOptions(const EnvironmentOptions& o, const SystemTree& tree) {
  if (!tree.recorded()) return absl::OkStatus();
  const auto refuse = [&](std::string_view what, std::string_view right) {
    return absl::InvalidArgumentError(
        StrCat(what, " belongs to this machine, ", tree.root(), " was recorded on another; ", right));
  };
  if (!o.python.empty()) {
    return refuse("a Python interpreter",
                  "its packages are in plinth-recorded/tools/python.txt where it was asked");
  }
  if (!o.model.empty() || !o.inputs.empty())
    return refuse("a digest of a model or of inputs", "leave it out");
  return absl::OkStatus();
}

// Outputs of the vendors' tools, and of Python where it is asked.
StatusOr<std::vector<ToolOutput>> Ask(const EnvironmentOptions& o, const SystemTree& tree) {
  std::vector<ToolCommand> tools;
  if (o.run_tools || tree.recorded()) tools = VendorTools();
  if (tree.recorded()) {
    tools.push_back(PythonTool("python"));
    return RecordedTools(tree, tools);
  }
  if (!o.python.empty()) {
    if (FindProgram(o.python).empty()) {
      return absl::NotFoundError(StrCat(o.python, ": no such program; name a Python interpreter"));
    }
    tools.push_back(PythonTool(o.python));
  }
  return RunTools(tools, o.tool_seconds);
}

// Python's output apart from those of the vendors' tools.
ToolOutput TakePython(std::vector<ToolOutput>* outputs) {
  if (outputs->empty() || outputs->back().name != "python") return {};
  ToolOutput python = std::move(outputs->back());
  outputs->pop_back();
  return python;
}

}  // namespace

StatusOr<Environment> CollectEnvironment(const EnvironmentOptions& o) {
  PLINTH_ASSIGN_OR_RETURN(const SystemTree tree, SystemTree::Open(o.root));
  PLINTH_RETURN_IF_ERROR(CheckOptions(o, tree));
  Environment e;
  e.root = tree.root();
  e.time = tree.recorded() ? tree.ReadLine(StrCat(kRecordedFolder, "/time")) : Now();
  const Variables variables = ReadVariables(tree);
  const std::vector<PciFunction> functions = ReadPci(tree);
  AddCpuFacts(tree, variables, &e);
  AddMachineFacts(tree, &e);
  AddContainerFacts(tree, variables, &e);
  AddDeviceFacts(tree, functions, &e);
  AddDriverFacts(tree, &e);
  AddStackFacts(tree, &e);
  PLINTH_ASSIGN_OR_RETURN(std::vector<ToolOutput> outputs, Ask(o, tree));
  const ToolOutput python = TakePython(&outputs);
  AddToolFacts(outputs, &e);
  if (!python.name.empty()) AddFrameworkFacts(python, &e);
  AddVariableFacts(variables, &e);
  PLINTH_RETURN_IF_ERROR(AddLibraryFacts(tree, o.libraries, *o.threads, &e));
  PLINTH_RETURN_IF_ERROR(
      AddDigestFacts(o.model, o.inputs, o.digest_program && !tree.recorded(), *o.threads, &e));
  if (!python.name.empty()) outputs.push_back(python);
  AddFindings(tree, functions, outputs, &e);
  return e;
}

}  // namespace plinth::evidence
