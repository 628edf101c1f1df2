// The command line of Plinth: parses, runs one subcommand, and turns its status into an exit code.
#include <cstdio>

#include "apps/plinth/command.h"

namespace {

// One line on standard error, whatever the message holds.
int Report(std::string message, int code) {
  for (char& c : message) {
    if (c == '\n' || c == '\r') c = ' ';
  }
  std::fprintf(stderr, "plinth: error: %s\n", message.c_str());
  return code;
}

int Usage(const CLI::ParseError& error, const CLI::App& app) {
  if (error.get_exit_code() == 0) return app.exit(error);  // --help and --version
  const CLI::App* at = &app;
  while (!at->get_subcommands().empty()) at = at->get_subcommands().front();
  std::string command = at == &app ? "plinth" : "plinth " + at->get_name();
  if (at != &app && at->get_parent() != &app)
    command = "plinth " + at->get_parent()->get_name() + " " + at->get_name();
  return Report(std::string(error.what()) + "; see " + command + " --help", 2);
}

}  // namespace

int main(int argc, char** argv) {
  using namespace plinth;
  using namespace plinth::app;
  CLI::App cli{
      "Plinth: forecasts with time-series foundation models, and proof that they compute the right thing"};
  cli.name("plinth");
  cli.set_version_flag("--version", StrCat("plinth ", kVersion));
  cli.require_subcommand(1);
  Program program(cli);
  AddForecast(program);
  AddBacktest(program);
  AddModels(program);
  AddPlan(program);
  AddVerify(program);

  AddBench(program);
  try {
    cli.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return Usage(error, cli);
  }
  const StatusOr<int> result = program.chosen()();
  const Status flushed = FlushOutput();
  if (!result.ok()) return Report(std::string(result.status().message()), ExitCode(result.status()));
  if (!flushed.ok()) return Report(std::string(flushed.message()), ExitCode(flushed));
  return *result;
}
