#include "plinth/report/ctrf.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <set>

#include "plinth/base/text.h"
#include "plinth/report/markup.h"

namespace plinth {
namespace {

// CTRF counts milliseconds in whole numbers.
int64_t Milliseconds(double seconds) {
  return std::isfinite(seconds) && seconds > 0 ? static_cast<int64_t>(std::min(seconds, 1e12) * 1000 + 0.5)
                                               : 0;
}

std::string Quoted(std::string_view text) {
  std::string out;
  AppendJsonString(text, &out);
  return out;
}

// CTRF wants names of at least one character.
std::string QuotedName(std::string_view text) { return Quoted(text.empty() ? "unnamed" : text); }

void AppendTest(const CheckResult& result, std::string* out) {
  constexpr std::array<const char*, 4> kStatuses = {"passed", "other", "failed", "skipped"};
  StrAppend(out, "{\"name\":", QuotedName(result.name), ",\"status\":\"",
            kStatuses[static_cast<size_t>(OutcomeOf(result.status))], "\",\"rawStatus\":\"",
            CheckStatusName(result.status), "\",\"duration\":", Milliseconds(result.seconds), ",\"suite\":[",
            QuotedName(result.suite), "]");
  if (!result.message.empty()) StrAppend(out, ",\"message\":", Quoted(result.message));
  if (!result.reproduce.empty()) StrAppend(out, ",\"extra\":{\"reproduce\":", Quoted(result.reproduce), "}");
  *out += "}";
}

// The run's random digits as a UUID of version 4 (RFC 9562): six of its bits say so. Empty for anything else
// than 32 hex digits.
std::string Uuid(std::string_view digits) {
  const auto is_hex = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  if (digits.size() != 32 || !std::all_of(digits.begin(), digits.end(), is_hex)) return "";
  std::string uuid(digits);
  uuid[12] = '4';
  const int variant = uuid[16] <= '9' ? uuid[16] - '0' : uuid[16] - 'a' + 10;
  uuid[16] = "89ab"[variant & 3];
  for (const size_t dash : {20, 16, 12, 8}) uuid.insert(dash, "-");
  return uuid;
}

// RFC 3339, to the millisecond.
std::string Timestamp(int64_t milliseconds) {
  const std::time_t seconds = milliseconds / 1000;
  std::tm parts{};
  if (milliseconds < 0 || gmtime_r(&seconds, &parts) == nullptr || parts.tm_year > 8099) {
    return "1970-01-01T00:00:00.000Z";
  }
  char text[40];
  const size_t size = std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &parts);
  std::snprintf(text + size, sizeof(text) - size, ".%03dZ", static_cast<int>(milliseconds % 1000));
  return text;
}

}  // namespace

std::string CtrfJson(const CheckRun& run) {
  std::array<int64_t, 4> counts{};
  std::set<std::string_view> suites;
  for (const CheckResult& result : run.results) {
    ++counts[static_cast<size_t>(OutcomeOf(result.status))];
    suites.insert(result.suite);
  }
  const auto count = [&](CheckOutcome outcome) { return counts[static_cast<size_t>(outcome)]; };
  std::string out = "{\"reportFormat\":\"CTRF\",\"specVersion\":\"1.0.0\"";
  if (const std::string uuid = Uuid(run.run_id); !uuid.empty()) {
    StrAppend(&out, ",\"reportId\":", Quoted(uuid));
  }
  StrAppend(&out, ",\"timestamp\":", Quoted(Timestamp(run.stop_ms)),
            ",\"generatedBy\":\"plinth\",\"extra\":{\"run\":", Quoted(run.name));
  if (!run.subject.empty()) StrAppend(&out, ",\"subject\":", Quoted(run.subject));
  StrAppend(&out, "},\"results\":{\"tool\":{\"name\":\"plinth\",\"version\":", Quoted(run.version),
            "},\"summary\":{\"tests\":", run.results.size(), ",\"passed\":", count(CheckOutcome::kPassed),
            ",\"failed\":", count(CheckOutcome::kFailed), ",\"skipped\":", count(CheckOutcome::kSkipped),
            ",\"pending\":0,\"other\":", count(CheckOutcome::kWarned), ",\"suites\":", suites.size(),
            ",\"start\":", run.start_ms, ",\"stop\":", run.stop_ms,
            ",\"duration\":", std::max<int64_t>(run.stop_ms - run.start_ms, 0), "},\"tests\":[");
  for (size_t i = 0; i < run.results.size(); ++i) {
    if (i > 0) out += ",";
    AppendTest(run.results[i], &out);
  }
  return out + "]}}\n";
}

}  // namespace plinth
