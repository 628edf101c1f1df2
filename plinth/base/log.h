// Writes log lines to standard error, each with its level; results never go there.
#pragma once

#include <memory>
#include <string_view>

#include "plinth/base/status.h"
#include "plinth/base/text.h"

namespace plinth {

enum class LogLevel { kDebug, kInfo, kWarn, kError, kOff };

// Thread-safe. Passed in by whoever owns it; two logs live side by side in one process.
class Log {
 public:
  explicit Log(LogLevel level);
  // The level named by PLINTH_LOG (debug, info, warn, error, off); warn where it is not set.
  // Error: InvalidArgument for another name.
  static StatusOr<Log> FromEnvironment();
  ~Log();
  Log(Log&&) noexcept;
  Log& operator=(Log&&) noexcept;

  bool Enabled(LogLevel level) const { return level >= level_ && level != LogLevel::kOff; }
  // One line, "plinth: warning: TEXT". Line breaks inside the text become spaces.
  void Write(LogLevel level, std::string_view text) const;

  // Pieces are joined only where the level is on.
  template <typename... Args>
  void Debug(const Args&... args) const {
    if (Enabled(LogLevel::kDebug)) Write(LogLevel::kDebug, StrCat(args...));
  }
  template <typename... Args>
  void Info(const Args&... args) const {
    if (Enabled(LogLevel::kInfo)) Write(LogLevel::kInfo, StrCat(args...));
  }
  template <typename... Args>
  void Warn(const Args&... args) const {
    if (Enabled(LogLevel::kWarn)) Write(LogLevel::kWarn, StrCat(args...));
  }
  template <typename... Args>
  void Error(const Args&... args) const {
    if (Enabled(LogLevel::kError)) Write(LogLevel::kError, StrCat(args...));
  }

 private:
  struct Impl;
  LogLevel level_;
  std::unique_ptr<Impl> impl_;
};

}  // namespace plinth
