#include "plinth/server/systemd.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>

namespace plinth::server {
namespace {

std::string TakeVariable(const char* name) {
  const char* value = std::getenv(name);
  std::string text = value == nullptr ? "" : value;
  unsetenv(name);
  return text;
}

}  // namespace

Systemd::Systemd() : path_(TakeVariable("NOTIFY_SOCKET")) {
  const std::string microseconds = TakeVariable("WATCHDOG_USEC"), process = TakeVariable("WATCHDOG_PID");
  if (!microseconds.empty() && (process.empty() || std::atoll(process.c_str()) == getpid())) {
    watchdog_ = std::atoll(microseconds.c_str()) * 1000;
  }
  if (path_.size() < 2 || (path_[0] != '/' && path_[0] != '@')) {
    path_.clear();
    return;
  }
  socket_ = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
}

Systemd::~Systemd() {
  if (socket_ >= 0) close(socket_);
}

void Systemd::Notify(std::string_view state) const {
  sockaddr_un to{};
  if (socket_ < 0 || path_.size() >= sizeof to.sun_path) return;
  to.sun_family = AF_UNIX;
  std::memcpy(to.sun_path, path_.data(), path_.size());
  if (to.sun_path[0] == '@') to.sun_path[0] = '\0';  // of the abstract namespace
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path_.size());
  sendto(socket_, state.data(), state.size(), MSG_NOSIGNAL, reinterpret_cast<const sockaddr*>(&to), size);
}

}  // namespace plinth::server
