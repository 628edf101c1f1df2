// plinth detect and plinth relate, as the user sees them.
#include <cmath>
#include <sstream>

#include "plinth/base/random.h"
#include "tests/cli/fixture.h"

namespace plinth::cli {
namespace {

using DetectTest = CliTest;
using RelateTest = CliTest;
using ::testing::ElementsAre;
using ::testing::Not;

// 400 hourly rows of a daily cycle; b follows a by three rows; a jumps at row 300 for ten rows.
std::string TwoColumns(bool items = false) {
  Random random(3);
  std::vector<double> a, noise;
  for (int t = 0; t < 400; ++t) a.push_back(random.Normal()), noise.push_back(random.Normal());
  for (size_t t = 300; t < 310; ++t) a[t] += 12;
  std::string csv = items ? "item,time,a,b\n" : "time,a,b\n";
  for (int64_t t = 0; t < 400; ++t) {
    const size_t i = static_cast<size_t>(t);
    const double b = (t >= 3 ? 0.9 * a[i - 3] : 0) + 0.3 * noise[i];
    std::string row = HourlyRow(t, StrCat(a[i], ",", b));
    csv += items ? "x," + row : row;
  }
  return csv;
}

TEST_F(DetectTest, WritesRowsToAFileAndAlarmsToStandardOutput) {
  Write("d.csv", TwoColumns());
  const RunResult run = Run({"detect", "-d", "d.csv", "-o", "rows.csv", "-f", "0.05"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, StartsWith("400 rows, "));
  EXPECT_THAT(run.out, HasSubstr("2024-01-13T"));  // row 300 is the twelfth hour of that day
  std::istringstream rows(Read("rows.csv"));
  std::string line;
  std::getline(rows, line);
  EXPECT_EQ(
      line,
      "time,score,alarm,reason,columns,residual,masked,subpca,profile,pca,a,a.expected,a.lower,a.upper,b,"
      "b.expected,b.lower,b.upper");
  int count = 0, alarmed = 0;
  while (std::getline(rows, line)) {
    ++count;
    if (line.find("2024-01-13T15") != line.npos) {
      ++alarmed;
      EXPECT_THAT(line, ::testing::ContainsRegex("subsequence|point|drift")) << line;
    }
  }
  EXPECT_EQ(count, 400);
  EXPECT_EQ(alarmed, 1);
}

TEST_F(DetectTest, JsonHasTheKeysThatAreDocumented) {
  Write("d.csv", TwoColumns(true));
  const json result = RunJson({"detect", "-d", "d.csv", "--item", "item", "--json", "-f", "0.05"});
  EXPECT_EQ(result["model"], "plinth-ts-0");
  EXPECT_THAT(result["identity"].get<std::string>(), StartsWith("sha256:"));
  EXPECT_EQ(result["evidence"], "unproven");
  EXPECT_EQ(result["false_alarms_per_day"], 0.05);
  ASSERT_EQ(result["items"].size(), 1u);
  const json& item = result["items"][0];
  EXPECT_EQ(item["item"], "x");
  EXPECT_EQ(item["start"], "2024-01-01T00:00:00");
  EXPECT_EQ(item["freq"], "h");
  EXPECT_EQ(item["calibration"], 100);
  EXPECT_EQ(item["step"], 4);
  EXPECT_GT(item["threshold"].get<double>(), 0);
  for (const char* key : {"times", "score", "alarm"}) EXPECT_EQ(item[key].size(), 400u) << key;
  ASSERT_EQ(item["scores"].size(), 5u);
  for (const auto& [name, values] : item["scores"].items()) EXPECT_EQ(values.size(), 400u) << name;
  ASSERT_EQ(item["targets"].size(), 2u);
  EXPECT_EQ(item["targets"][1]["target"], "b");
  EXPECT_EQ(item["targets"][1]["upper"].size(), 400u);
  EXPECT_TRUE(item["targets"][0]["expected"][0].is_null());  // nothing lies before it
  const json* alarm = nullptr;
  for (const json& a : item["alarms"]) {
    if (a["start"] <= "2024-01-13T15:00:00" && a["end"] >= "2024-01-13T15:00:00") alarm = &a;
  }
  ASSERT_NE(alarm, nullptr);
  for (const char* key :
       {"start", "end", "rows", "peak_time", "peak", "reason", "leading_score", "columns", "causes"}) {
    EXPECT_TRUE(alarm->contains(key)) << key;
  }
  ASSERT_FALSE((*alarm)["columns"].empty());
  EXPECT_TRUE((*alarm)["columns"][0].contains("share"));
  ASSERT_FALSE((*alarm)["causes"].empty());
  EXPECT_EQ((*alarm)["causes"][0]["column"], "a");
  EXPECT_EQ((*alarm)["causes"][0]["of"], "b");
  EXPECT_EQ((*alarm)["causes"][0]["lag"], 3);
}

TEST_F(DetectTest, SameOutputOnAnyThreadsAndThroughAPipe) {
  Write("d.csv", TwoColumns());
  const RunResult one = Run({"detect", "-d", "d.csv", "-t", "1"}),
                  three = Run({"detect", "-d", "d.csv", "-t", "3"});
  EXPECT_EQ(one.exit_code, 0) << one.err;
  EXPECT_THAT(one.out, StartsWith("time,score,alarm,"));
  EXPECT_EQ(one.out, three.out);
}

TEST_F(DetectTest, LastRowsOnly) {
  Write("d.csv", TwoColumns());
  const json result =
      RunJson({"detect", "-d", "d.csv", "--json", "--last", "24", "--scores", "residual,pca"});
  const json& item = result["items"][0];
  EXPECT_EQ(item["score"].size(), 24u);
  EXPECT_EQ(item["start"], "2024-01-16T16:00:00");
  EXPECT_EQ(item["scores"].size(), 2u);
  EXPECT_EQ(item["calibration"], 376);
}

TEST_F(DetectTest, RefusesBadUsageWithOneLine) {
  Write("d.csv", TwoColumns());
  ExpectError({"detect", "-d", "d.csv", "--scores", "pca,x"}, 2,
              "--scores: there is no score \"x\"; there are residual, masked, subpca, profile, pca");
  ExpectError(
      {"detect", "-d", "d.csv", "-f", "0"}, 2,
      "d.csv: the allowed false alarms per day are 0; a number above 0 is needed, such as 0.1 for one in ten "
      "days");
  ExpectError({"detect", "-d", "d.csv", "--last", "390"}, 2,
              "d.csv: the last 390 of 400 rows are asked for; at least 16 must lie before them");
  ExpectError({"detect", "-d", "d.csv", "--step", "97"}, 2,
              "--step 97: the model forecasts up to 96 steps at once");
  ExpectError({"detect", "-d", "d.csv", "-o", "d.html"}, 2,
              "--out d.html: the name must end in .csv or .json");
  ExpectError({"detect", "-d", "d.csv", "-o", "d.csv"}, 2,
              "--out d.csv is the file d.csv that the result is made from; name another one");
  // Options that only forecasts have.
  for (const char* option : {"--joint", "--cross-learning", "--past", "--future-data", "--group"}) {
    ExpectError({"detect", "-d", "d.csv", option}, 2,
                StrCat("unknown option ", option, "; see plinth detect --help"));
  }
  ExpectError(
      {"detect", "-d", "d.csv", "--causal", "--scores", "masked"}, 2,
      "d.csv: the score masked needs the rows behind each row and cannot score a stream; leave it out");
  Write("short.csv", HourlyCsv(10));
  ExpectError({"detect", "-d", "short.csv", "-o", "x.csv"}, 2,
              "short.csv: the series has 10 rows; detection needs at least 16");
  EXPECT_THAT(Files(), Not(::testing::Contains("x.csv")));
}

TEST_F(RelateTest, FindsThePlantedLag) {
  Write("d.csv", TwoColumns());
  const RunResult text = Run({"relate", "-d", "d.csv"});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("a leads b by 3 rows  r +0."));
  const std::vector<json> lines = RunJsonLines({"relate", "-d", "d.csv", "--json", "--max-lag", "12"});
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0]["most_lag"], 12);
  EXPECT_EQ(lines[0]["tested"], 3);
  ASSERT_EQ(lines[0]["relations"].size(), 1u);
  const json& relation = lines[0]["relations"][0];
  EXPECT_EQ(relation["leader"], "a");
  EXPECT_EQ(relation["follower"], "b");
  EXPECT_EQ(relation["lag"], 3);
  EXPECT_LT(relation["p_value"].get<double>(), 1e-6);
}

TEST_F(RelateTest, NamesSilentColumnsAndRefusesOne) {
  std::string csv = "time,a,b,c\n";
  Random random(1);
  for (int64_t t = 0; t < 100; ++t) csv += HourlyRow(t, StrCat(random.Normal(), ",", random.Normal(), ",5"));
  Write("d.csv", csv);
  const RunResult run = Run({"relate", "-d", "d.csv"});
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_THAT(run.err, HasSubstr("column \"c\" is constant"));
  ExpectError({"relate", "-d", "d.csv", "--target", "a"}, 2,
              "d.csv: there is 1 column; relations need at least two");
  ExpectError({"relate", "-d", "d.csv", "--level", "2"}, 2,
              "d.csv: the level is 2; it lies between 0 and 1, as 0.05");
}

}  // namespace
}  // namespace plinth::cli
