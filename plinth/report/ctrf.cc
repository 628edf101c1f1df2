#include "plinth/report/ctrf.h"

#include <algorithm>
#include <array>
#include <cmath>
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
  if (!run.run_id.empty()) StrAppend(&out, ",\"runId\":", Quoted(run.run_id));
  StrAppend(&out, ",\"generatedBy\":\"plinth\",\"extra\":{\"run\":", Quoted(run.name),
            "},\"results\":{\"tool\":{\"name\":\"plinth\",\"version\":", Quoted(run.version),
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
