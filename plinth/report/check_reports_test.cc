// JUnit XML and CTRF: their schemas' rules, and texts that try to break out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "plinth/base/text.h"
#include "plinth/base/utf8.h"
#include "plinth/report/ctrf.h"
#include "plinth/report/junit.h"

namespace plinth {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

CheckRun Sample() {
  CheckRun run{
      "plinth accept plinth-ts-0", "0.1.0", "00112233445566778899aabbccddeeff", "abc", 1'796'063'400'125,
      1'796'063'402'625,           {}};
  run.results = {
      {"operators", "softmax f32", CheckStatus::kPassed, "", "", 0.25},
      {"operators", "gelu f32", CheckStatus::kFailed, "max_abs 3e-2 > 1e-5", "plinth verify ops --op unary",
       0.5},
      {"layers", "block.0", CheckStatus::kWarned, "rule 4 broken", "plinth locate a b", 1},
      {"layers", "block.1", CheckStatus::kMissing, "not in the candidate", "", 0},
      {"task", "mase", CheckStatus::kUnproven, "", "", 0},
      {"task", "wql", CheckStatus::kRefused, "as documented", "", 0},
  };
  return run;
}

TEST(CheckResultTest, StatusesAndOutcomes) {
  const std::pair<CheckStatus, const char*> names[] = {
      {CheckStatus::kPassed, "passed"},     {CheckStatus::kWarned, "warned"},
      {CheckStatus::kFailed, "failed"},     {CheckStatus::kUnimplemented, "unimplemented"},
      {CheckStatus::kRefused, "refused"},   {CheckStatus::kMistrusted, "mistrusted"},
      {CheckStatus::kUnproven, "unproven"}, {CheckStatus::kMissing, "missing"},
      {CheckStatus::kExtra, "extra"}};
  for (const auto& [status, name] : names) EXPECT_EQ(CheckStatusName(status), name);
  for (const CheckStatus bad :
       {CheckStatus::kFailed, CheckStatus::kUnimplemented, CheckStatus::kMistrusted, CheckStatus::kMissing}) {
    EXPECT_EQ(OutcomeOf(bad), CheckOutcome::kFailed);
  }
  EXPECT_EQ(OutcomeOf(CheckStatus::kExtra), CheckOutcome::kSkipped);
}

TEST(JunitTest, WholeDocument) {
  EXPECT_EQ(JunitXml(Sample()),
            R"(<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="plinth accept plinth-ts-0" tests="6" failures="2" errors="0" skipped="2" time="1.750">
  <testsuite name="operators" tests="2" failures="1" errors="0" skipped="0" time="0.750" timestamp="2026-11-30T18:30:00">
    <testcase name="softmax f32" classname="operators" time="0.250"/>
    <testcase name="gelu f32" classname="operators" time="0.500">
      <failure message="max_abs 3e-2 &gt; 1e-5" type="failed">again: plinth verify ops --op unary</failure>
    </testcase>
  </testsuite>
  <testsuite name="layers" tests="2" failures="1" errors="0" skipped="0" time="1.000" timestamp="2026-11-30T18:30:00">
    <testcase name="block.0" classname="layers" time="1.000">
      <system-out>warned: rule 4 broken&#10;again: plinth locate a b</system-out>
    </testcase>
    <testcase name="block.1" classname="layers" time="0.000">
      <failure message="not in the candidate" type="missing"></failure>
    </testcase>
  </testsuite>
  <testsuite name="task" tests="2" failures="0" errors="0" skipped="2" time="0.000" timestamp="2026-11-30T18:30:00">
    <testcase name="mase" classname="task" time="0.000">
      <skipped message="unproven"/>
    </testcase>
    <testcase name="wql" classname="task" time="0.000">
      <skipped message="refused: as documented"/>
    </testcase>
  </testsuite>
</testsuites>
)");
}

// What XML 1.0 allows, beyond being UTF-8.
void ExpectXmlCharacters(const std::string& xml) {
  EXPECT_TRUE(IsUtf8(xml));
  for (const char c : xml)
    EXPECT_TRUE(static_cast<unsigned char>(c) >= 0x20 || c == '\n') << static_cast<int>(c);
  EXPECT_EQ(xml.find("\xEF\xBF\xBE"), std::string::npos);
  EXPECT_EQ(xml.find("\xEF\xBF\xBF"), std::string::npos);
  // Every ampersand begins one of our references.
  const std::string rest = std::regex_replace(xml, std::regex("&(amp|lt|gt|quot|#9|#10|#13);"), "");
  EXPECT_EQ(rest.find('&'), std::string::npos);
}

constexpr char kHostileBytes[] =
    "\"/><script>&amp;</testcase>]]><!--\r\n\t\0\x01\x1b[31m \xff\xc3 \xED\xA0\x80 "
    "\xEF\xBF\xBE\xEF\xBF\xBF\xF0\x9F\x98\x80 \xE4\xBD\xA0";
const std::string kHostile(kHostileBytes, sizeof(kHostileBytes) - 1);

TEST(JunitTest, HostileTexts) {
  CheckRun run = Sample();
  run.name = kHostile;
  for (CheckResult& result : run.results) {
    result.suite = result.suite + kHostile, result.name = result.message = result.reproduce = kHostile;
    result.seconds = std::numeric_limits<double>::quiet_NaN();
  }
  const std::string xml = JunitXml(run);
  ExpectXmlCharacters(xml);
  EXPECT_THAT(xml,
              HasSubstr("&quot;/&gt;&lt;script&gt;&amp;amp;&lt;/testcase&gt;]]&gt;&lt;!--&#13;&#10;&#9;"));
  EXPECT_EQ(xml.find("<script"), std::string::npos);
  EXPECT_THAT(xml, HasSubstr("\xF0\x9F\x98\x80 \xE4\xBD\xA0"));
  // As many tags as the document has without the texts.
  const auto tags = [](const std::string& text) { return std::count(text.begin(), text.end(), '<'); };
  EXPECT_EQ(tags(xml), tags(JunitXml(Sample())));
}

TEST(JunitTest, NoResults) {
  EXPECT_EQ(JunitXml({.name = "n"}),
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"n\" tests=\"0\" failures=\"0\" "
            "errors=\"0\" "
            "skipped=\"0\" time=\"0.000\">\n</testsuites>\n");
}

// The rules of CTRF's schema: required and allowed keys with their types.
void ExpectCtrf(const json& report) {
  const auto keys = [](const json& object, std::set<std::string> required, std::set<std::string> optional) {
    for (const auto& [key, value] : object.items()) {
      EXPECT_TRUE(required.erase(key) + optional.erase(key) == 1) << key;
    }
    EXPECT_TRUE(required.empty());
  };
  keys(report, {"results", "reportFormat", "specVersion"}, {"generatedBy", "extra", "reportId", "timestamp"});
  const std::regex uuid("[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}");
  if (report.contains("reportId")) EXPECT_TRUE(std::regex_match(report["reportId"].get<std::string>(), uuid));
  const std::regex time("\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z");
  EXPECT_TRUE(std::regex_match(report["timestamp"].get<std::string>(), time)) << report["timestamp"];
  EXPECT_EQ(report["reportFormat"], "CTRF");
  EXPECT_TRUE(
      std::regex_match(report["specVersion"].get<std::string>(), std::regex("[0-9]+\\.[0-9]+\\.[0-9]+")));
  const json& results = report["results"];
  keys(results, {"tool", "summary", "tests"}, {"environment", "extra"});
  keys(results["tool"], {"name"}, {"version", "extra"});
  const json& summary = results["summary"];
  keys(summary, {"tests", "passed", "failed", "skipped", "pending", "other", "start", "stop"},
       {"flaky", "suites", "duration", "extra"});
  std::map<std::string, int64_t> counted;
  for (const json& test : results["tests"]) {
    keys(test, {"name", "status", "duration"}, {"suite", "rawStatus", "message", "extra"});
    EXPECT_FALSE(test["name"].get<std::string>().empty());
    EXPECT_TRUE(test["duration"].is_number_integer());
    EXPECT_TRUE(test["suite"].is_array() && !test["suite"].empty());
    ++counted[test["status"]];
  }
  for (const char* key : {"passed", "failed", "skipped", "pending", "other"}) {
    EXPECT_TRUE(summary[key].is_number_integer());
    EXPECT_EQ(summary[key], counted[key]) << key;
  }
  EXPECT_EQ(summary["tests"], results["tests"].size());
}

TEST(CtrfTest, FollowsItsSchema) {
  const json report = json::parse(CtrfJson(Sample()));
  ExpectCtrf(report);
  EXPECT_EQ(report["reportId"], "00112233-4455-4677-8899-aabbccddeeff");
  EXPECT_EQ(report["timestamp"], "2026-11-30T18:30:02.625Z");
  EXPECT_EQ(report["extra"]["subject"], "abc");
  EXPECT_EQ(report["results"]["summary"]["duration"], 2500);
  EXPECT_EQ(report["results"]["summary"]["suites"], 3);
  const json& gelu = report["results"]["tests"][1];
  EXPECT_EQ(gelu, (json{{"name", "gelu f32"},
                        {"status", "failed"},
                        {"rawStatus", "failed"},
                        {"duration", 500},
                        {"suite", {"operators"}},
                        {"message", "max_abs 3e-2 > 1e-5"},
                        {"extra", {{"reproduce", "plinth verify ops --op unary"}}}}));
  EXPECT_EQ(report["results"]["tests"][2]["status"], "other");
  EXPECT_EQ(report["results"]["tests"][2]["rawStatus"], "warned");
  ExpectCtrf(json::parse(CtrfJson({})));
}

TEST(CtrfTest, HostileTexts) {
  CheckRun run = Sample();
  run.name = run.run_id = run.version = kHostile;
  for (CheckResult& result : run.results) result.name = result.message = result.reproduce = kHostile;
  run.results[0].name = run.results[0].suite = "";
  run.results[1].seconds = std::numeric_limits<double>::infinity();
  run.results[2].seconds = -1;
  const std::string text = CtrfJson(run);
  EXPECT_TRUE(IsUtf8(text));
  const json report = json::parse(text);
  ExpectCtrf(report);
  EXPECT_THAT(report["results"]["tests"][1]["name"].get<std::string>(),
              HasSubstr("\"/><script>&amp;</testcase>]]><!--"));
}

// U+202E would show "fdp.exe" as "exe.pdf"; such characters are not handed on as they are.
TEST(CheckReportsTest, NothingMisleadsTheReader) {
  CheckRun run = Sample();
  const char* characters[] = {"\u202e", "\u2066", "\u200f", "\u061c",
                              "\ufeff", "\u2028", "\u009b", "\U000e0041"};
  for (const char* c : characters) {
    run.name = run.results[0].name = run.results[1].message = run.results[0].suite = StrCat("a", c, "b");
    EXPECT_EQ(JunitXml(run).find(c), std::string::npos);
    EXPECT_THAT(JunitXml(run), HasSubstr("name=\"a\uFFFDb\""));
    EXPECT_EQ(CtrfJson(run).find(c), std::string::npos);
  }
}

}  // namespace
}  // namespace plinth
