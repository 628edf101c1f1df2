#include "plinth/base/log.h"

#include <spdlog/logger.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <algorithm>
#include <cstdlib>
#include <string>

namespace plinth {

struct Log::Impl {
  Impl() : logger("plinth", std::make_shared<spdlog::sinks::stderr_sink_mt>()) {
    logger.set_level(spdlog::level::trace);
    logger.set_pattern("plinth: %l: %v");
    // A log that cannot be written must not stop the work.
    logger.set_error_handler([](const std::string&) {});
  }
  spdlog::logger logger;
};

Log::Log(LogLevel level) : level_(level), impl_(std::make_unique<Impl>()) {}
Log::~Log() = default;
Log::Log(Log&&) noexcept = default;
Log& Log::operator=(Log&&) noexcept = default;

StatusOr<Log> Log::FromEnvironment() {
  const char* set = std::getenv("PLINTH_LOG");
  const std::string_view name = set == nullptr ? "" : set;
  if (name.empty() || name == "warn") return Log(LogLevel::kWarn);
  if (name == "debug") return Log(LogLevel::kDebug);
  if (name == "info") return Log(LogLevel::kInfo);
  if (name == "error") return Log(LogLevel::kError);
  if (name == "off") return Log(LogLevel::kOff);
  return absl::InvalidArgumentError(
      StrCat("PLINTH_LOG=", name, " is unknown; it can be debug, info, warn, error or off"));
}

void Log::Write(LogLevel level, std::string_view text) const {
  if (!Enabled(level)) return;
  constexpr spdlog::level::level_enum kLevels[] = {spdlog::level::debug, spdlog::level::info,
                                                   spdlog::level::warn, spdlog::level::err};
  std::string line(text);
  std::replace_if(
      line.begin(), line.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
  impl_->logger.log(kLevels[static_cast<int>(level)], spdlog::string_view_t(line.data(), line.size()));
}

}  // namespace plinth
