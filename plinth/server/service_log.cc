#include "plinth/server/service_log.h"

#include <unistd.h>

#include "plinth/base/clock.h"
#include "plinth/evidence/unit.h"
#include "plinth/formats/json_writer.h"

namespace plinth::server {
namespace {

constexpr std::string_view kLevels[] = {"debug", "info", "warn", "error", "off"};

}  // namespace

LogLevel LogLevelOf(std::string_view name) {
  for (size_t i = 0; i < std::size(kLevels); ++i) {
    if (kLevels[i] == name) return static_cast<LogLevel>(i);
  }
  return LogLevel::kInfo;
}

void ServiceLog::Write(LogLevel level, std::string_view event, Fields fields) const {
  if (!Enabled(level)) return;
  std::string line;
  formats::JsonWriter w(&line);
  w.BeginObject();
  w.Key("time"), w.String(evidence::Rfc3339(Clock::System().Wall()));
  w.Key("level"), w.String(kLevels[static_cast<size_t>(level)]);
  w.Key("event"), w.String(event);
  for (const auto& [name, value] : fields) {
    w.Key(name);
    std::visit(
        [&](const auto& v) {
          using T = std::remove_cvref_t<decltype(v)>;
          if constexpr (std::is_same_v<T, std::string_view>)
            w.String(v);
          else if constexpr (std::is_same_v<T, int64_t>)
            w.Int(v);
          else if constexpr (std::is_same_v<T, double>)
            w.Number(v);
          else
            w.Bool(v);
        },
        value);
  }
  w.EndObject();
  w.EndLine();
  // One write per line, so that lines of several threads never mix. A log that cannot be written stops
  // nothing.
  const std::lock_guard lock(mutex_);
  const ssize_t ignored = write(STDERR_FILENO, line.data(), line.size());
  static_cast<void>(ignored);
}

}  // namespace plinth::server
