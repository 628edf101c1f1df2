// The command line of Plinth: parses, runs one subcommand, and turns its status into an exit code.
#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <new>
#include <sstream>

#include "apps/plinth/command.h"
#include "apps/plinth/credential.h"
#include "apps/plinth/subcommands.h"
#include "apps/plinth/usage.h"

namespace plinth::app {
namespace {

using SignalAction = void (*)(int);

// A closed standard stream's number would go to the next file that is opened, and messages into that file.
void KeepStandardStreams() {
  for (int fd = 0; fd <= 2; ++fd) {
    // The wrong direction, so that use still fails.
    if (fcntl(fd, F_GETFD) == -1) static_cast<void>(open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY));
  }
}

// Turns an error into its exit code. `on_pipe` is what the parent wants to happen when a pipe closes.
int Finish(const Status& status, SignalAction on_pipe) {
  if (OutputWasClosed(status) && on_pipe != SIG_IGN) {
    // Ends as programs do whose reader has enough, but only now, with temporary files removed.
    std::signal(SIGPIPE, SIG_DFL);
    std::raise(SIGPIPE);
  }
  // Which call the signal broke off is of no interest.
  const bool interrupted = status.code() == absl::StatusCode::kCancelled;
  PrintLine("error", interrupted ? "interrupted" : std::string(status.message()));
  return ExitCode(status);
}

// Runs the chosen subcommand. Memory that runs out anywhere below unwinds to here, past everything that
// removes temporary files.
StatusOr<int> RunChosen(const Program& program) {
  try {
    PLINTH_RETURN_IF_ERROR(TakeCredential());
    return program.chosen()();
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError(
        "memory ran out; fewer or shorter series at once, a shorter --horizon or smaller groups need less");
  }
}

int Main(int argc, char** argv) {
  KeepStandardStreams();
  std::signal(SIGXFSZ, SIG_IGN);  // a file that would grow past its limit is an error of that write
  const SignalAction on_pipe = std::signal(SIGPIPE, SIG_IGN);
  CLI::App cli{
      "Plinth: forecasts with time-series foundation models, and proof that they compute the right thing"};
  cli.name("plinth");
  cli.set_version_flag("--version", StrCat("plinth ", kVersion));
  cli.require_subcommand(1);
  Program program(cli);
  AddForecast(program);
  AddBacktest(program);
  AddDetect(program);
  AddRelate(program);
  AddCapture(program);
  AddLocate(program);
  AddModels(program);
  AddPlan(program);
  AddVerify(program);
  AddReplay(program);
  AddMetrics(program);
  AddCompare(program);
  AddBench(program);
  AddAccept(program);
  AddEnv(program);
  AddEvidence(program);
  AddServe(program);
  try {
    cli.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) {
      PrintLine("error", UsageMessage(error, cli));
      return 2;
    }
    // --help and --version; to our own stream, which reports a full disk.
    std::ostringstream text;
    cli.exit(error, text, text);
    const Status status = Print(text.str());
    const Status flushed = FlushOutput();
    return status.ok() && flushed.ok() ? 0 : Finish(status.ok() ? flushed : status, on_pipe);
  }
  const StatusOr<int> result = RunChosen(program);
  const Status flushed = FlushOutput();
  if (!result.ok()) return Finish(result.status(), on_pipe);
  if (!flushed.ok()) return Finish(flushed, on_pipe);
  return *result;
}

}  // namespace
}  // namespace plinth::app

int main(int argc, char** argv) { return plinth::app::Main(argc, argv); }
