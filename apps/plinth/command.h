// Holds what all subcommands share: common options, and the edge where a status becomes an exit code.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "CLI/CLI.hpp"
#include "apps/installation.h"
#include "plinth/base/context.h"
#include "plinth/base/version.h"
#include "plinth/engine/series_file.h"

namespace plinth::app {

// Options that mean the same everywhere.
struct CommonOptions {
  int threads = 0;  // 0: one per available processor
  std::string device = "cpu";
  std::string precision = "f32";
  bool json = false;
};

// What a subcommand returns: an exit code of the contract, or the error that the edge prints.
using Action = std::function<StatusOr<int>()>;

// Adds a subcommand whose action runs after parsing. `run` must own its options (capture by value).
class Program {
 public:
  explicit Program(CLI::App& app) : app_(app) {}
  CLI::App* Add(CLI::App* parent, const std::string& name, const std::string& about);
  CLI::App* Add(const std::string& name, const std::string& about) { return Add(&app_, name, about); }
  void Run(CLI::App* command, Action action);
  // Adds --threads, --device, --precision.
  void AddCommon(CLI::App* command, CommonOptions* options);
  // Adds --json.
  static void AddJson(CLI::App* command, CommonOptions* options);
  const Action& chosen() const { return chosen_; }

 private:
  CLI::App& app_;
  Action chosen_;
};

// Threads and instruction set of one command run. Errors: Unavailable for a device that is not there,
// InvalidArgument for options that make no sense.
class Runtime {
 public:
  static StatusOr<std::unique_ptr<Runtime>> Make(const CommonOptions& options);
  const Context& context() const { return context_; }
  Threads& threads() { return *threads_; }

 private:
  std::unique_ptr<Threads> threads_;
  Context context_;
};

// The word by which a shell that reads our output would start this program again: as it was called, else
// the path of the executable.
std::string ProgramAsCalled();

// `wanted`, or the shipped model where it is empty.
StatusOr<std::string> ModelFolderOrShipped(const std::string& wanted);

// Writes to standard output; error ResourceExhausted or Unavailable when it is full or closed.
Status Print(std::string_view text);
Status FlushOutput();
bool OutputIsTerminal();
// Whether `status` says that the reader of standard output went away (`| head`).
bool OutputWasClosed(const Status& status);

// Remarks on standard error beside a good result: "plinth: note: ...", one line each; after a few the rest is
// only counted. Printed at the end, so that an error stands alone.
class Notes {
 public:
  void Add(std::string note);
  void Print() const;

 private:
  std::vector<std::string> shown_;
  int64_t count_ = 0;
};

// "FILE: item "x", column "y""; without the item where the file has none.
std::string SeriesName(const engine::SeriesFile& file, const engine::SeriesItem& group, size_t target);

// Writes "plinth: KIND: TEXT" on one line of standard error, whatever the text holds.
void PrintLine(const char* kind, std::string text);

}  // namespace plinth::app
