// backtest, plan and verify: what they print, and their keys.
#include "tests/cli/fixture.h"

namespace plinth::cli {
namespace {

using ReportsTest = CliTest;

constexpr const char* kScores[] = {"mase", "wql", "mae", "rmse", "coverage_80"};

TEST_F(ReportsTest, BacktestKeysAndPrefixes) {
  // One day unlike the others gives the errors a scale.
  std::string text = "time,y\n";
  for (int t = 0; t < 400; ++t) text += HourlyRow(t, StrCat(t < 24 ? 0 : t % 24));
  Write("d.csv", text);
  const std::vector<json> lines = RunJsonLines(
      {"backtest", "-d", "d.csv", "-H", "48", "-w", "3", "--stride", "24", "--report", "12,48", "--json"});
  ASSERT_EQ(lines.size(), 2u);
  for (const json& line : lines) {
    for (const char* key : kScores) {
      EXPECT_TRUE(line[key].is_number()) << key;
      EXPECT_TRUE(line["seasonal_naive"].contains(key)) << key;
    }
    EXPECT_TRUE(line.contains("relative_mase") && line.contains("relative_wql"));
    EXPECT_EQ(line["series"], 1);
    EXPECT_EQ(line["series_left_out"], 0);
    EXPECT_EQ(line["windows"], 3);
    EXPECT_EQ(line["season"], 24);
  }
  EXPECT_EQ(lines[0]["horizon"], 12);
  EXPECT_EQ(lines[1]["horizon"], 48);
  // The other days repeat exactly: the seasonal-naive method makes no error.
  EXPECT_EQ(lines[1]["seasonal_naive"]["mae"], 0);
}

TEST_F(ReportsTest, BacktestAsText) {
  const RunResult run = Run({"backtest", "-d", Source("examples/series/wine_sales.csv"), "-H", "12"});
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_EQ(run.err, "");
  EXPECT_THAT(run.out, StartsWith("1 window of 1 series, horizon 12, season 12\n"));
  EXPECT_THAT(run.out, testing::AllOf(HasSubstr("MASE"), HasSubstr("\n  plinth-ts-0 "),
                                      HasSubstr("\n  seasonal naive "), HasSubstr("(below 1 is better)\n")));
}

TEST_F(ReportsTest, BacktestLeavesOutWhatIsTooShort) {
  std::string text = "i,time,y\n";
  for (const auto& [item, rows] : {std::pair<const char*, int>{"short", 20}, {"long", 100}, {"edge", 37}}) {
    for (int t = 0; t < rows; ++t) StrAppend(&text, item, ",", HourlyRow(t, StrCat(t % 23)));
  }
  Write("d.csv", text);
  RunResult run = Run({"backtest", "-d", "d.csv", "--item", "i", "-H", "12", "-w", "2", "--json"});
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_EQ(
      run.err,
      "plinth: note: d.csv: 1 of 3 series left out: one window needs at least 37 steps (one season of 24 and "
      "more, "
      "then a horizon of 12)\n"
      "plinth: note: d.csv: only 3 of 4 windows fit; shorten --horizon or --stride, or lower --windows\n");
  const json scores = json::parse(run.out);
  EXPECT_EQ(scores["series"], 2);
  EXPECT_EQ(scores["series_left_out"], 1);
  EXPECT_EQ(scores["windows"], 3);
  const std::string least =
      "one window needs at least 112 steps (one season of 24 and more, then a horizon of 87)";
  ExpectError({"backtest", "-d", "d.csv", "--item", "i", "-H", "87"}, 2,
              "d.csv: all 3 series are too short: the longest has 100 steps; " + least);
  Write("one.csv", HourlyCsv(100));
  ExpectError({"backtest", "-d", "one.csv", "-H", "87"}, 2,
              "one.csv: column \"y\": the series has 100 steps; " + least);
}

TEST_F(ReportsTest, BacktestOfItemsWithDifferentSeasons) {
  std::string text = "i,time,y\n";
  for (int t = 0; t < 60; ++t) StrAppend(&text, "hours,", HourlyRow(t, StrCat(t % 24)));
  for (int t = 0; t < 60; ++t) StrAppend(&text, "days,", HourlyRow(24 * t, StrCat(t % 7)));
  Write("d.csv", text);
  ExpectError(
      {"backtest", "-d", "d.csv", "--item", "i", "-H", "6"}, 2,
      "d.csv: item \"days\", column \"y\": has steps of D and a season of 7, the items before it a season of "
      "24; evaluate them separately or give one --season");
  EXPECT_EQ(Run({"backtest", "-d", "d.csv", "--item", "i", "-H", "6", "--season", "7"}).exit_code, 0);
}

TEST_F(ReportsTest, BacktestOfGapsGivesNull) {
  std::string text = "time,y\n";
  for (int t = 0; t < 100; ++t) text += HourlyRow(t, t < 80 ? std::to_string(t % 24) : "");
  Write("d.csv", text);
  const RunResult run = Run({"backtest", "-d", "d.csv", "-H", "12", "--json"});
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_THAT(run.out, Not(HasSubstr("nan")));
  EXPECT_THAT(run.out, Not(HasSubstr("NaN")));
  EXPECT_TRUE(json::parse(run.out)["mae"].is_null()) << run.out;
}

TEST_F(ReportsTest, BacktestOfFlatSeriesSaysWhatHasNoScore) {
  std::string text = "i,time,y\n";
  for (int t = 0; t < 100; ++t) StrAppend(&text, "flat,", HourlyRow(t, t < 99 ? "0" : "1"));
  for (int t = 0; t < 100; ++t) StrAppend(&text, "moving,", HourlyRow(t, StrCat(t * t % 29)));
  Write("d.csv", text);
  const RunResult run =
      Run({"backtest", "-d", "d.csv", "--item", "i", "-H", "12", "-w", "2", "--report", "6,12", "--json"});
  EXPECT_EQ(run.exit_code, 0);
  // Of the flat item, both contexts and the first truth (the first steps of both) are 0 throughout.
  const std::string mase =
      " of 4 windows have no MASE because no seasonal difference in the context is other than 0\n";
  const std::string wql = " of 4 windows have no WQL because every value of the truth is 0\n";
  const std::string note = "plinth: note: d.csv: horizon ";
  EXPECT_EQ(run.err,
            note + "6: 2" + mase + note + "6: 2" + wql + note + "12: 2" + mase + note + "12: 1" + wql);
  const json scores = json::parse(run.out.substr(run.out.find('\n') + 1));
  EXPECT_EQ(scores["windows"], 4);
  EXPECT_LT(scores["mase"].get<double>(), 100);
}

TEST_F(ReportsTest, PlanExplained) {
  const RunResult run = Run({"plan", "--explain", "--batch", "4", "-H", "200"});
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_THAT(run.out, HasSubstr("batch 4, horizon 200: 3 passes of "));
  EXPECT_THAT(run.out, testing::AllOf(HasSubstr("step"), HasSubstr("operator"), HasSubstr("kernel"),
                                      HasSubstr("attention"), HasSubstr("f32[")));
  const json plan = RunJson({"plan", "--json", "--batch", "4"});
  for (const char* key : {"model", "device", "isa", "batch", "context", "horizon", "passes", "steps", "flops",
                          "product_flops", "arena_bytes", "scratch_bytes", "weight_bytes"}) {
    EXPECT_TRUE(plan.contains(key)) << key;
  }
  EXPECT_EQ(plan["batch"], 4);
}

TEST_F(ReportsTest, VerifyAModel) {
  const std::string rand = Source("tests/golden/plinth_ts_rand"), cases = rand + "/cases.json";
  RunResult run = Run({"verify", "model", rand, "--cases", cases, "--json"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  const size_t last = run.out.rfind('\n', run.out.size() - 2) + 1;
  const json summary = json::parse(run.out.substr(last));
  EXPECT_EQ(summary["summary"], true);
  EXPECT_GT(summary["compared"], 0);
  EXPECT_EQ(summary["passed"], summary["compared"]);
  EXPECT_EQ(summary["failed"], 0);
  const json first = json::parse(run.out.substr(0, run.out.find('\n')));
  for (const char* key : {"case", "output", "model", "device", "dtype", "mode", "status", "max_abs", "rel_l2",
                          "max_ulp", "limit", "worst_share", "reproduce"}) {
    EXPECT_TRUE(first.contains(key)) << key;
  }
  // The cases of one model with the weights of another.
  run = Run({"verify", "model", Source("models/plinth-ts-0"), "--cases", cases});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.out, testing::AllOf(StartsWith("failed  "), HasSubstr(" failed\n")));
}

// A reproduce line, pasted into a shell, ends as its row did.
TEST_F(ReportsTest, VerifyCanBeReproduced) {
  const std::vector<json> refused =
      RunJsonLines({"verify", "ops", "--op", "softmax", "--case", "missing", "--json"});
  ASSERT_EQ(refused.size(), 2u);
  EXPECT_EQ(refused[0]["status"], "refused");
  EXPECT_EQ(refused[1]["refused"], 1);
  EXPECT_EQ(refused[1]["verdict"], "pass");
  const std::string folder = Path("it's mine");
  std::filesystem::copy(Source("tests/golden/plinth_ts_rand"), folder);
  const std::vector<json> rows =
      RunJsonLines({"verify", "model", folder, "--cases", folder + "/cases.json", "--json"});
  ASSERT_GT(rows.size(), 1u);
  for (const json& row : {refused[0], rows[0]}) {
    const std::string line = row["reproduce"];
    EXPECT_EQ(std::system((line + " > /dev/null").c_str()), 0) << line;
  }
}

TEST_F(ReportsTest, VerifyRefusesSeedsAndFiltersThatFitNothing) {
  for (const char* seed : {"-1", "1.5", "18446744073709551616"}) {
    ExpectError({"verify", "ops", "--seed", seed}, 2,
                StrCat("--seed ", seed, ": a whole number from 0 to 18446744073709551615 is expected"));
  }
  EXPECT_EQ(
      Run({"verify", "ops", "--op", "softmax", "--case", "n17", "--seed", "18446744073709551615"}).exit_code,
      0);
  const RunResult run = Run({"verify", "ops", "--op", "softmax", "--dtype", "f64"});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_EQ(run.out, "");
  EXPECT_THAT(run.err, StartsWith("plinth: error: no case fits --mode correct --op softmax --dtype f64 "));
  ExpectError({"verify", "ops", "--case", "nope"}, 2,
              "no operator has a case \"nope\" in mode correct; --mode list shows the operators");
}

TEST_F(ReportsTest, VerifyRefusesWhatItDoesNotKnow) {
  ExpectError({"verify"}, 2, "a command is missing; there are ops, model; see plinth verify --help");
  ExpectError({"verify", "model", "--cases", "nosuch.json"}, 2,
              "nosuch.json: cannot be opened: No such file or directory");
  ExpectError({"verify", "ops", "--mode", "nosuch"}, 2,
              "mode \"nosuch\" is unknown; there are list, correct, bitwise, gradient and speed");
  ExpectError({"verify", "ops", "--tier", "nosuch"}, 2,
              "tier \"nosuch\" is unknown; there are smoke, ci and nightly");
  ExpectError({"verify", "ops", "--device", "cuda:0"}, 3,
              "no such device: cuda:0; this installation has cpu");
  const RunResult run = Run({"verify", "ops", "--op", "nosuch"});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, StartsWith("plinth: error: no operator is named \"nosuch\"; there are attention, "));
}

}  // namespace
}  // namespace plinth::cli
