#include "tests/cli/run_program.h"

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>

namespace plinth::cli {
namespace {

struct Pipe {
  int read = -1, write = -1;
  Pipe() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) == 0) read = ends[0], write = ends[1];
  }
  ~Pipe() {
    CloseRead();
    CloseWrite();
  }
  void CloseRead() { Close(&read); }
  void CloseWrite() { Close(&write); }

 private:
  static void Close(int* fd) {
    if (*fd >= 0) close(*fd);
    *fd = -1;
  }
};

// In the child, between fork and exec.
[[noreturn]] void Become(const std::vector<std::string>& arguments, const RunOptions& o) {
  for (const int number : {SIGPIPE, SIGINT, SIGTERM}) signal(number, SIG_DFL);
  if (o.file_bytes > 0) {
    const rlimit limit{static_cast<rlim_t>(o.file_bytes), static_cast<rlim_t>(o.file_bytes)};
    setrlimit(RLIMIT_FSIZE, &limit);
    signal(SIGXFSZ, SIG_DFL);
  }
  if (o.memory_bytes > 0) {
    const rlimit limit{static_cast<rlim_t>(o.memory_bytes), static_cast<rlim_t>(o.memory_bytes)};
    setrlimit(RLIMIT_AS, &limit);
  }
  for (const char* name : {"PLINTH_LOG", "NO_COLOR", "COLUMNS"}) unsetenv(name);
  setenv("LC_ALL", "C.UTF-8", 1);
  setenv("TERM", "xterm-256color", 1);
  for (const auto& [name, value] : o.settings) setenv(name.c_str(), value.c_str(), 1);
  if (!o.folder.empty() && chdir(o.folder.c_str()) != 0) _exit(126);
  std::vector<char*> argv = {const_cast<char*>("plinth")};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  execv(PLINTH_PROGRAM, argv.data());
  _exit(127);
}

// The largest memory that process `pid` has had so far, or `before` once it is gone. The figure of wait4
// would do for the whole run, but it starts at what the parent had when it forked.
int64_t PeakBytes(int pid, int64_t before) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("VmHWM:", 0) == 0) return int64_t{1024} * std::atoll(line.c_str() + 6);
  }
  return before;
}

// Feeds `input` and collects both streams until the program has closed them.
void Exchange(int pid, const RunOptions& o, Pipe& in, int out, int err, RunResult* result) {
  size_t sent = 0;
  if (o.input.empty()) in.CloseWrite();
  if (in.write >= 0) fcntl(in.write, F_SETFL, O_NONBLOCK);
  while (out >= 0 || err >= 0) {
    pollfd waits[] = {{out, POLLIN, 0}, {err, POLLIN, 0}, {in.write, POLLOUT, 0}};
    poll(waits, 3, 10);
    if (o.meanwhile) o.meanwhile(pid);
    result->peak_bytes = PeakBytes(pid, result->peak_bytes);
    int* const ends[] = {&out, &err};
    std::string* const texts[] = {&result->out, &result->err};
    for (int i = 0; i < 2; ++i) {
      if (waits[i].revents == 0) continue;
      char piece[65536];
      const ssize_t got = read(*ends[i], piece, sizeof(piece));
      if (got > 0) texts[i]->append(piece, static_cast<size_t>(got));
      if (got <= 0) *ends[i] = -1;  // a terminal says EIO when the program is gone
    }
    if (waits[2].revents != 0) {
      const ssize_t put = write(in.write, o.input.data() + sent, o.input.size() - sent);
      sent += put > 0 ? static_cast<size_t>(put) : 0;
      if (put <= 0 || sent == o.input.size()) in.CloseWrite();
    }
  }
}

void Finish(int pid, RunResult* result) {
  int status = 0;
  waitpid(pid, &status, 0);
  result->exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

RunResult RunOnTerminal(const std::vector<std::string>& arguments, const RunOptions& o) {
  RunResult result;
  const winsize size{.ws_row = 40, .ws_col = 100, .ws_xpixel = 0, .ws_ypixel = 0};
  int terminal = -1;
  const int pid = forkpty(&terminal, nullptr, nullptr, &size);
  if (pid == 0) Become(arguments, o);
  Pipe none;
  none.CloseWrite();
  Exchange(pid, o, none, terminal, -1, &result);
  Finish(pid, &result);
  close(terminal);
  return result;
}

}  // namespace

RunResult RunPlinth(const std::vector<std::string>& arguments, const RunOptions& o) {
  if (o.on_terminal) return RunOnTerminal(arguments, o);
  signal(SIGPIPE, SIG_IGN);  // a program that does not read its input must not end the test
  RunResult result;
  Pipe in, out, err;
  const int pid = fork();
  if (pid == 0) {
    dup2(in.read, 0);
    const int file = o.output_file.empty() ? -1 : open(o.output_file.c_str(), O_WRONLY | O_CREAT, 0666);
    dup2(file >= 0 ? file : out.write, 1);
    dup2(err.write, 2);
    if (file >= 0) close(file);
    if (o.without_output) close(1);
    if (o.without_error) close(2);
    if (o.close_output) out.CloseRead();
    Become(arguments, o);
  }
  in.CloseRead();
  out.CloseWrite();
  err.CloseWrite();
  if (o.close_output) out.CloseRead();
  Exchange(pid, o, in, out.read, err.read, &result);
  Finish(pid, &result);
  return result;
}

}  // namespace plinth::cli
