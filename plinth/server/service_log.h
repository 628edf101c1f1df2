// Writes the service's log: one JSON object per line on standard error.
#pragma once

#include <atomic>
#include <initializer_list>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "plinth/base/log.h"

namespace plinth::server {

// {"time", "level", "event", ...fields}. Thread-safe.
class ServiceLog {
 public:
  using Value = std::variant<std::string_view, int64_t, double, bool>;
  using Fields = std::initializer_list<std::pair<std::string_view, Value>>;

  explicit ServiceLog(LogLevel level) : level_(level) {}
  void SetLevel(LogLevel level) { level_ = level; }
  bool Enabled(LogLevel level) const { return level >= level_ && level_ != LogLevel::kOff; }
  void Write(LogLevel level, std::string_view event, Fields fields) const;

 private:
  std::atomic<LogLevel> level_;
  mutable std::mutex mutex_;
};

// "debug", "info", "warn", "error", "off".
LogLevel LogLevelOf(std::string_view name);

}  // namespace plinth::server
