#include "plinth/report/junit.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>

#include "plinth/base/text.h"
#include "plinth/report/utf8.h"

namespace plinth {
namespace {

// Characters that XML 1.0 has no place for, not even escaped (controls but tab and line ends, U+FFFE and
// U+FFFF), and those that would mislead a reader.
bool IsForbidden(char32_t c) {
  const bool control = c < 0x20 && c != '\t' && c != '\n' && c != '\r';
  return control || (c >= 0x7F && c < 0xA0) || c == 0xFFFE || c == 0xFFFF || Misleads(c);
}

// Safe in content and in attributes between double quotes, where parsers would turn line ends into spaces.
std::string EscapeXml(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t from = at;
    const char32_t code = NextCodePoint(text, &at);
    switch (code) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\t':
      case '\n':
      case '\r':
        StrAppend(&out, "&#", static_cast<int>(code), ";");
        break;
      default:
        out += code == kReplacement || IsForbidden(code) ? std::string_view("\xEF\xBF\xBD")
                                                         : text.substr(from, at - from);
    }
  }
  return out;
}

std::string Seconds(double seconds) {
  char text[64];
  std::snprintf(text, sizeof(text), "%.3f",
                std::isfinite(seconds) && seconds > 0 ? std::min(seconds, 1e9) : 0.0);
  return text;
}

std::string Timestamp(int64_t milliseconds) {
  const std::time_t seconds = milliseconds / 1000;
  std::tm parts{};
  char text[32];
  if (gmtime_r(&seconds, &parts) == nullptr) return "1970-01-01T00:00:00";
  return std::string(text, std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &parts));
}

struct Counts {
  int64_t tests = 0, failures = 0, skipped = 0;
  double seconds = 0;
  void Add(const CheckResult& result) {
    ++tests;
    failures += OutcomeOf(result.status) == CheckOutcome::kFailed;
    skipped += OutcomeOf(result.status) == CheckOutcome::kSkipped;
    seconds += std::isfinite(result.seconds) && result.seconds > 0 ? result.seconds : 0;
  }
  std::string Attributes() const {
    return StrCat("tests=\"", tests, "\" failures=\"", failures, "\" errors=\"0\" skipped=\"", skipped,
                  "\" time=\"", Seconds(seconds), "\"");
  }
};

void AppendCase(const CheckResult& result, std::string* out) {
  StrAppend(out, "    <testcase name=\"", EscapeXml(result.name), "\" classname=\"", EscapeXml(result.suite),
            "\" time=\"", Seconds(result.seconds), "\"");
  const CheckOutcome outcome = OutcomeOf(result.status);
  const std::string message = EscapeXml(result.message);
  const std::string again = result.reproduce.empty() ? "" : StrCat("again: ", EscapeXml(result.reproduce));
  if (outcome == CheckOutcome::kPassed) {
    *out += "/>\n";
    return;
  }
  *out += ">\n";
  const std::string_view status = CheckStatusName(result.status);
  if (outcome == CheckOutcome::kFailed) {
    StrAppend(out, "      <failure message=\"", message, "\" type=\"", status, "\">", again, "</failure>\n");
  } else if (outcome == CheckOutcome::kSkipped) {
    StrAppend(out, "      <skipped message=\"", status, message.empty() ? "" : ": ", message, "\"/>\n");
  } else {
    StrAppend(out, "      <system-out>", status, message.empty() ? "" : ": ", message,
              again.empty() ? "" : "&#10;", again, "</system-out>\n");
  }
  *out += "    </testcase>\n";
}

}  // namespace

std::string JunitXml(const CheckRun& run) {
  std::vector<std::string> suites;
  Counts all;
  for (const CheckResult& result : run.results) {
    all.Add(result);
    if (std::find(suites.begin(), suites.end(), result.suite) == suites.end()) suites.push_back(result.suite);
  }
  std::string out = StrCat("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"",
                           EscapeXml(run.name), "\" ", all.Attributes(), ">\n");
  for (const std::string& suite : suites) {
    Counts counts;
    std::string cases;
    for (const CheckResult& result : run.results) {
      if (result.suite != suite) continue;
      counts.Add(result);
      AppendCase(result, &cases);
    }
    StrAppend(&out, "  <testsuite name=\"", EscapeXml(suite), "\" ", counts.Attributes(), " timestamp=\"",
              Timestamp(run.start_ms), "\">\n", cases, "  </testsuite>\n");
  }
  return out + "</testsuites>\n";
}

}  // namespace plinth
