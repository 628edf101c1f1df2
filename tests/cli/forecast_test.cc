// What forecast computes, as the user sees it.
#include <cmath>

#include "plinth/formats/safetensors.h"
#include "tests/cli/fixture.h"

namespace plinth::cli {
namespace {

using ForecastTest = CliTest;

// A golden case through the whole program: the contract's tolerance, max(10 x the listed deviation between
// the original's two precisions, 8 units of f32 at the largest output).
TEST_F(ForecastTest, GoldenCasesEndToEnd) {
  for (const auto& [folder, name] : {std::pair<std::string, std::string>{"plinth_ts_real", "normal.h150"},
                                     {"plinth_ts_rand", "nan_gaps.h60"}}) {
    const std::string golden = Source("tests/golden/" + folder);
    const json index = json::parse(std::ifstream(golden + "/cases.json"));
    const auto found = std::find_if(index["cases"].begin(), index["cases"].end(),
                                    [&](const json& c) { return c["name"] == name; });
    ASSERT_NE(found, index["cases"].end()) << name;
    auto file = formats::SafetensorsFile::Open(golden + "/cases.safetensors");
    ASSERT_TRUE(file.ok()) << file.status();
    const auto numbers = [&](const std::string& key) {
      const formats::ConstTensorRef* tensor = file->Find(key);
      std::vector<double> values(tensor == nullptr ? 0 : static_cast<size_t>(tensor->size()));
      EXPECT_TRUE(tensor != nullptr && formats::ConvertTo(*tensor, DType::kF64, values.data()).ok()) << key;
      return values;
    };
    std::string csv = "y\n";
    for (const double v : numbers(name + "/in/context")) {
      char text[32];
      std::snprintf(text, sizeof(text), "%.17g", v);
      csv += std::isnan(v) ? "NaN\n" : std::string(text) + "\n";
    }
    Write("d.csv", csv);
    const int64_t horizon = (*found)["options"]["horizon"];
    const json result = RunJson(
        {"forecast", "-m", golden, "-d", "d.csv", "--time", "none", "-H", std::to_string(horizon), "--json"});
    const std::vector<double> wanted = numbers(name + "/out/quantiles.f64");
    double largest = 0;
    for (const double v : wanted) largest = std::max(largest, std::abs(v));
    const double listed = (*found)["outputs"]["quantiles"]["max_abs_f32_f64"];
    const double limit = std::max(10 * listed, 8 * std::exp2(-24) * largest);
    size_t at = 0;
    for (const auto& [level, values] : result["items"][0]["quantiles"].items()) {
      ASSERT_EQ(static_cast<int64_t>(values.size()), horizon);
      for (const json& v : values) EXPECT_NEAR(v.get<double>(), wanted[at++], limit) << name << " " << level;
    }
    EXPECT_EQ(at, wanted.size());
  }
}

TEST_F(ForecastTest, JsonHasTheKeysOfTheContract) {
  Write("d.csv", HourlyCsv(200));
  const json result = RunJson({"forecast", "-d", "d.csv", "-q", "0.9,0.1,0.10,0.25", "-H", "3", "--json"});
  EXPECT_EQ(result["model"], "plinth-ts-0");
  EXPECT_THAT(result["identity"].get<std::string>(), StartsWith("sha256:"));
  EXPECT_EQ(result["evidence"], "unproven");
  ASSERT_EQ(result["items"].size(), 1u);
  const json& item = result["items"][0];
  EXPECT_TRUE(item["item"].is_null());
  EXPECT_EQ(item["target"], "y");
  EXPECT_EQ(item["start"], "2024-01-09T08:00:00");
  EXPECT_EQ(item["freq"], "h");
  EXPECT_EQ(item["times"], json({"2024-01-09T08:00:00", "2024-01-09T09:00:00", "2024-01-09T10:00:00"}));
  EXPECT_EQ(item["mean"].size(), 3u);
  ASSERT_EQ(item["quantiles"].size(), 3u);  // 0.1 and 0.10 are one level
  for (size_t h = 0; h < 3; ++h) {
    EXPECT_LE(item["quantiles"]["0.1"][h], item["quantiles"]["0.25"][h]);
    EXPECT_LE(item["quantiles"]["0.25"][h], item["mean"][h]);
    EXPECT_LE(item["mean"][h], item["quantiles"]["0.9"][h]);
  }
}

TEST_F(ForecastTest, ALevelIsTheSameHoweverItIsWritten) {
  Write("d.csv", HourlyCsv(100));
  const RunResult a = Run({"forecast", "-d", "d.csv", "-q", "0.1"});
  EXPECT_EQ(a.out, Run({"forecast", "-d", "d.csv", "-q", "0.10"}).out);
  EXPECT_EQ(a.out, Run({"forecast", "-d", "d.csv", "-q", "1e-1"}).out);
  EXPECT_THAT(a.out, StartsWith("target,time,mean,0.1\ny,2024-01-05T04:00:00,"));
}

TEST_F(ForecastTest, AHighLevelKeepsItsDigits) {
  // The same waves at level 0 and at 1e6, where f32 would keep four of them.
  Write("low.csv", HourlyCsv(300, 0, 1e-3));
  std::string text = "time,y\n";
  for (int i = 0; i < 300; ++i) {
    char value[32];
    std::snprintf(value, sizeof(value), "%.12f", 1e6 + 1e-3 * std::sin(2 * M_PI * i / 24));
    text += HourlyRow(i, value);
  }
  Write("high.csv", text);
  const json low = RunJson({"forecast", "-d", "low.csv", "--json"})["items"][0]["mean"];
  const json high = RunJson({"forecast", "-d", "high.csv", "--json"})["items"][0]["mean"];
  for (size_t h = 0; h < 96; ++h) {
    // Doubles at 1e6 are 1.2e-10 apart, a ten-millionth of the variation.
    EXPECT_NEAR(high[h].get<double>() - 1e6, low[h].get<double>(), 2e-8) << h;
  }
}

TEST_F(ForecastTest, BeyondTheHorizonAndLimitedContext) {
  Write("d.csv", HourlyCsv(600));
  const json far = RunJson({"forecast", "-d", "d.csv", "-H", "300", "--json"});
  EXPECT_EQ(far["items"][0]["mean"].size(), 300u);
  EXPECT_EQ(far["items"][0]["times"][299], "2024-02-07T11:00:00");
  const std::string csv = HourlyCsv(600);
  std::string tail = csv.substr(0, csv.find('\n') + 1);
  size_t at = 0;
  for (int line = 0; line < 501; ++line) at = csv.find('\n', at) + 1;
  Write("tail.csv", tail + csv.substr(at));
  EXPECT_EQ(RunJson({"forecast", "-d", "d.csv", "-c", "100", "--json"}),
            RunJson({"forecast", "-d", "tail.csv", "--json"}));
}

TEST_F(ForecastTest, ManyRoundsOfTheModelAreNoted) {
  Write("d.csv", HourlyCsv(100));
  RunJson({"forecast", "-d", "d.csv", "-H", "768", "--json"});  // silently
  const RunResult run = Run({"forecast", "-d", "d.csv", "-H", "769", "--json"});
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_EQ(
      run.err,
      "plinth: note: a horizon of 769 is more than 8 times the model's 96 steps: forecasts beyond 96 steps "
      "repeat the model's own errors, and the further ones may drift far off\n");
}

TEST_F(ForecastTest, SameBitsOnAnyThreads) {
  std::string text = "i,time,y\n";
  for (int item = 0; item < 30; ++item) {
    for (int t = 0; t < 40 + item; ++t) {
      StrAppend(&text, item, ",", HourlyRow(t, StrCat((t * (item + 3)) % 17)));
    }
  }
  Write("d.csv", text);
  const std::vector<std::string> arguments = {"forecast", "-d", "d.csv", "--item", "i", "-t"};
  const auto with = [&](const char* threads) {
    std::vector<std::string> all = arguments;
    all.emplace_back(threads);
    return Run(all).out;
  };
  const std::string one = with("1");
  EXPECT_EQ(std::count(one.begin(), one.end(), '\n'), 1 + 30 * 96);
  EXPECT_EQ(with("2"), one);
  EXPECT_EQ(with("3"), one);
}

}  // namespace
}  // namespace plinth::cli
