// Tells systemd how the service is (sd_notify(3)): ready, reloading, stopping, alive.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace plinth::server {

class Systemd {
 public:
  // Reads NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID, and takes them out of the environment.
  Systemd();
  ~Systemd();
  Systemd(const Systemd&) = delete;
  Systemd& operator=(const Systemd&) = delete;

  // Lines "KEY=VALUE". Without a socket, nothing; what cannot be sent is lost, as sd_notify has it.
  void Notify(std::string_view state) const;
  // Within so long it wants "WATCHDOG=1"; 0: it does not.
  int64_t WatchdogNanoseconds() const { return watchdog_; }

 private:
  int socket_ = -1;
  std::string path_;
  int64_t watchdog_ = 0;
};

}  // namespace plinth::server
