#include "plinth/evidence/tools.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "plinth/base/clock.h"
#include "plinth/base/files.h"
#include "plinth/base/interrupt.h"
#include "plinth/base/text.h"
#include "plinth/evidence/text_fields.h"

extern char** environ;

namespace plinth::evidence {
namespace {

constexpr int kHungStatus = 124;  // as timeout(1) says it

// A child with both streams in one pipe and a process group of its own, so that what it starts ends with it.
class Child {
 public:
  Child(const ToolCommand& tool, std::string path) {
    output_.name = tool.name;
    output_.source = std::move(path);
    Start(tool);
  }
  ~Child() { Kill(); }
  Child(Child&& other) noexcept
      : output_(std::move(other.output_)),
        pipe_(std::move(other.pipe_)),
        pid_(std::exchange(other.pid_, -1)) {}
  Child& operator=(Child&&) = delete;

  bool open() const { return pipe_.get() >= 0; }
  int descriptor() const { return pipe_.get(); }

  // Takes what is there; closes at the end.
  void Drain() {
    char piece[16384];
    while (true) {
      const ssize_t got = read(pipe_.get(), piece, sizeof(piece));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0 && errno == EAGAIN) return;
      if (got <= 0) {
        pipe_.Close();
        return;
      }
      const size_t room = kMostToolBytes - output_.text.size();
      output_.text.append(piece, std::min(room, static_cast<size_t>(got)));
      if (static_cast<size_t>(got) > room) {
        output_.cut = true;
        pipe_.Close();
        return;
      }
    }
  }

  // Whether it has ended; its status is then known.
  bool Ended() {
    if (pid_ < 0) return true;
    int status = 0;
    if (waitpid(pid_, &status, WNOHANG) != pid_) return false;
    output_.exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    kill(-pid_, SIGKILL);  // what it left behind
    pid_ = -1;
    return true;
  }

  void Stop(bool hung) {
    if (pid_ >= 0 && hung) output_.hung = true, output_.exit_code = kHungStatus;
    Kill();
    pipe_.Close();
  }

  ToolOutput Take() { return std::move(output_); }

 private:
  void Kill() {
    if (pid_ < 0) return;
    kill(-pid_, SIGKILL);
    while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
  }

  void Start(const ToolCommand& tool) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return Failed(errno);
    pipe_ = Handle(ends[0]);
    const Handle write_end(ends[1]);
    fcntl(pipe_.get(), F_SETFL, O_NONBLOCK);
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, write_end.get(), 1);
    posix_spawn_file_actions_adddup2(&actions, write_end.get(), 2);
    sigset_t defaults;
    sigemptyset(&defaults);
    for (const int signal : {SIGPIPE, SIGINT, SIGTERM}) sigaddset(&defaults, signal);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF);
    std::vector<char*> argv = {const_cast<char*>(output_.source.c_str())};
    for (const std::string& argument : tool.arguments) argv.push_back(const_cast<char*>(argument.c_str()));
    argv.push_back(nullptr);
    std::vector<char*> variables;
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
      if (!std::string_view(*entry).starts_with("LC_ALL=")) variables.push_back(*entry);
    }
    static char locale[] = "LC_ALL=C";
    variables.push_back(locale);
    variables.push_back(nullptr);
    const int error =
        posix_spawn(&pid_, output_.source.c_str(), &actions, &attributes, argv.data(), variables.data());
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    if (error != 0) Failed(error);
  }

  void Failed(int error) {
    pid_ = -1;
    pipe_.Close();
    output_.exit_code = 126;
    output_.text = StrCat("cannot be started: ", std::strerror(error));
  }

  ToolOutput output_;
  Handle pipe_;
  pid_t pid_ = -1;
};

// Waits until one of them has something to say, or 20 ms are over.
void Wait(const std::vector<Child>& children) {
  std::vector<pollfd> waits;
  for (const Child& child : children) {
    if (child.open()) waits.push_back({child.descriptor(), POLLIN, 0});
  }
  poll(waits.data(), waits.size(), 20);
}

bool IsProgram(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && access(path.c_str(), X_OK) == 0;
}

}  // namespace

const std::vector<ToolCommand>& VendorTools() {
  static const std::vector<ToolCommand> tools = {
      {"nvidia-smi", "nvidia-smi", {}},
      {"nvidia-smi-cards",
       "nvidia-smi",
       {"--query-gpu=pci.bus_id,name,driver_version,compute_cap,vbios_version,memory.total",
        "--format=csv,noheader"}},
      {"rocm-smi", "rocm-smi", {}},
      {"hy-smi", "hy-smi", {}},
      {"rocminfo", "rocminfo", {}},
      {"hipcc", "hipcc", {"--version"}},
      {"nvcc", "nvcc", {"--version"}},
  };
  return tools;
}

std::string FindProgram(const std::string& program) {
  if (program.find('/') != program.npos) return IsProgram(program) ? program : "";
  const char* variable = std::getenv("PATH");
  const std::string path = variable == nullptr ? "" : variable;
  for (const std::string_view folder : Words(path, ":")) {
    // A relative folder would run what lies in the working directory.
    if (!folder.starts_with('/')) continue;
    if (std::string file = JoinPath(folder, program); IsProgram(file)) return file;
  }
  for (const std::string_view folder :
       {"/opt/hyhal/bin", "/opt/dtk/.hyhal/bin", "/opt/dtk/bin", "/opt/dtk/hip/bin", "/opt/rocm/bin",
        "/usr/local/cuda/bin", "/usr/bin"}) {
    if (std::string file = JoinPath(folder, program); IsProgram(file)) return file;
  }
  return "";
}

StatusOr<std::vector<ToolOutput>> RunTools(const std::vector<ToolCommand>& tools, double seconds) {
  std::vector<Child> children;
  children.reserve(tools.size());
  for (const ToolCommand& tool : tools) {
    if (std::string path = FindProgram(tool.program); !path.empty()) children.emplace_back(tool, path);
  }
  const Clock& clock = Clock::System();
  const int64_t end = clock.Monotonic() + static_cast<int64_t>(seconds * 1e9);
  bool running = !children.empty();
  while (running && clock.Monotonic() < end) {
    PLINTH_RETURN_IF_ERROR(CheckInterrupted());
    Wait(children);
    running = false;
    for (Child& child : children) {
      if (child.open()) child.Drain();
      // A tool is done when it has ended, even where something it left behind holds the pipe.
      if (!child.Ended()) running = true;
    }
  }
  std::vector<ToolOutput> outputs;
  for (Child& child : children) {
    if (child.open()) child.Drain();
    child.Stop(!child.Ended());
    outputs.push_back(child.Take());
  }
  return outputs;
}

std::vector<ToolOutput> RecordedTools(const SystemTree& tree, const std::vector<ToolCommand>& tools) {
  std::vector<ToolOutput> outputs;
  for (const ToolCommand& tool : tools) {
    const std::string base = StrCat(kRecordedFolder, "/tools/", tool.name);
    auto text = tree.Read(base + ".txt", kMostToolBytes);
    if (!text.has_value()) continue;
    ToolOutput output;
    output.name = tool.name;
    output.source = base.substr(1) + ".txt";
    output.text = *std::move(text);
    output.exit_code = static_cast<int>(ToInteger(tree.ReadLine(base + ".status")).value_or(0));
    output.hung = output.exit_code == kHungStatus;
    outputs.push_back(std::move(output));
  }
  return outputs;
}

}  // namespace plinth::evidence
