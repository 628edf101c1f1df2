#include "apps/plinth/command.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "apps/installation.h"
#include "apps/plinth/credential.h"
#include "plinth/base/files.h"
#include "plinth/device/device.h"
#include "plinth/formats/json.h"

namespace plinth::app {

CLI::App* Program::Add(CLI::App* parent, const std::string& name, const std::string& about) {
  CLI::App* command = parent->add_subcommand(name, about);
  // Where options follow a nested subcommand's name they belong to it alone.
  command->fallthrough(false);
  return command;
}

void Program::Run(CLI::App* command, Action action) {
  command->callback([this, action = std::move(action)] { chosen_ = action; });
}

void Program::AddCommon(CLI::App* command, CommonOptions* options) {
  command->add_option("-t,--threads", options->threads, "threads to use (default: one per processor)")
      ->check(CLI::Range(1, 4096));
  command->add_option("--device", options->device, "cpu, cuda:N or hip:N (default: cpu)");
  command->add_option("--precision", options->precision,
                      "f32, or the file of a precision plan (default: f32)");
  AddCredentialOption(command);
}

void Program::AddJson(CLI::App* command, CommonOptions* options) {
  command->add_flag("--json", options->json, "print the result as JSON");
}

StatusOr<std::unique_ptr<Runtime>> Runtime::Make(const CommonOptions& options) {
  PLINTH_RETURN_IF_ERROR(FindDevice(options.device).status());
  if (options.precision != "f32") {
    return absl::UnimplementedError(
        StrCat("--precision ", options.precision, ": this version computes in f32 only"));
  }
  auto runtime = std::make_unique<Runtime>();
  PLINTH_ASSIGN_OR_RETURN(runtime->context_.isa, IsaFromEnvironment());
  runtime->threads_ = std::make_unique<Threads>(options.threads);
  runtime->context_.threads = runtime->threads_.get();
  return runtime;
}

namespace {

// The file that a shell runs for `name`, a word without a slash; empty where there is none.
std::string FoundOnPath(const std::string& name) {
  const char* variable = std::getenv("PATH");
  std::string_view rest = variable == nullptr ? "" : variable;
  while (!rest.empty()) {
    const std::string_view folder = rest.substr(0, rest.find(':'));
    const std::string file = StrCat(folder.empty() ? "." : folder, "/", name);
    if (access(file.c_str(), X_OK) == 0) return file;
    rest.remove_prefix(std::min(rest.size(), folder.size() + 1));
  }
  return "";
}

}  // namespace

std::string ProgramAsCalled() {
  const std::string called = program_invocation_name, executable = ExecutablePath();
  if (executable.empty()) return called;
  const bool is_path = called.find('/') != std::string::npos;
  // Whoever starts a program may call it anything, and another one may come first on the path.
  return RealPath(is_path ? called : FoundOnPath(called)) == executable ? called : executable;
}

StatusOr<std::string> ModelFolderOrShipped(const std::string& wanted) {
  if (!wanted.empty()) return wanted;
  return ShippedModel();
}

Status Print(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size()) return absl::OkStatus();
  return FileError("standard output", "written", errno);
}

Status FlushOutput() {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return absl::OkStatus();
  return FileError("standard output", "written", errno);
}

bool OutputWasClosed(const Status& status) {
  return status == FileError("standard output", "written", EPIPE);
}

void PrintLine(const char* kind, std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  std::fprintf(stderr, "plinth: %s: %s\n", kind, text.c_str());
}

void Notes::Add(std::string note) {
  constexpr size_t kShown = 5;
  ++count_;
  if (shown_.size() < kShown) shown_.push_back(std::move(note));
}

void Notes::Print() const {
  for (const std::string& note : shown_) PrintLine("note", note);
  const int64_t more = count_ - static_cast<int64_t>(shown_.size());
  if (more > 0) PrintLine("note", StrCat(more, more == 1 ? " more note" : " more notes", " of this kind"));
}

std::string SeriesName(const engine::SeriesFile& file, const engine::SeriesItem& group, size_t target) {
  const std::string item = group.item.empty() ? "" : StrCat("item ", formats::QuotedShort(group.item), ", ");
  return StrCat(file.path(), ": ", item, "column ", formats::QuotedShort(file.targets()[target]));
}

bool OutputIsTerminal() { return isatty(STDOUT_FILENO) == 1; }

}  // namespace plinth::app
