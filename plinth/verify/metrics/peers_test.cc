// Every task against the values of scikit-learn, pycocotools, jiwer, trec_eval, SciPy
// (tests/data/metrics/make.py).
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "plinth/base/files.h"
#include "plinth/verify/metrics/metrics.h"
#include "plinth/verify/metrics/test_files.h"

namespace plinth::verify::metrics {
namespace {

using nlohmann::json;

// Sums in another order and other ways to the same logarithm: some hundred roundings of numbers near one.
constexpr double kTolerance = 1e-12;

std::string Rows(const json& rows) {
  std::string text;
  for (const json& row : rows) text += row.dump() + "\n";
  return text;
}

MetricsOptions OptionsOf(const std::string& task, const json& test, const TestFiles& files) {
  MetricsOptions options{.task = task,
                         .reference = files.Write("r.jsonl", Rows(test["reference"])),
                         .candidate = files.Write("c.jsonl", Rows(test["candidate"]))};
  if (!test["labels"].is_null()) options.labels = files.Write("l.jsonl", Rows(test["labels"]));
  const json& given = test["options"];
  if (given.contains("ks")) options.ks = given["ks"].get<std::vector<int64_t>>();
  if (given.contains("thresholds")) options.thresholds = given["thresholds"].get<std::vector<double>>();
  if (given.contains("language")) options.language = given["language"];
  options.resamples = 100;
  return options;
}

void ExpectValue(const MetricsResult& result, const std::string& metric, const json& wanted,
                 bool of_candidate) {
  for (const MetricRow& row : result.rows) {
    if (row.metric != metric) continue;
    const double value = of_candidate ? row.candidate : row.reference;
    if (wanted.is_null()) {
      EXPECT_TRUE(std::isnan(value)) << metric << " is " << value;
    } else {
      const double right = wanted;
      EXPECT_NEAR(value, right, kTolerance * std::max(1.0, std::abs(right))) << metric;
    }
    return;
  }
  // Peers give a value to what is not asked for here: one class has no curve.
  EXPECT_TRUE(wanted.is_null()) << metric << " is missing";
}

class PeersTest : public testing::TestWithParam<const char*> {};

TEST_P(PeersTest, ValuesAreEqual) {
  const std::string task = GetParam();
  std::ifstream file(SourcePath("tests/data/metrics/" + task + ".jsonl"));
  ASSERT_TRUE(file.good());
  int cases = 0;
  for (std::string line; std::getline(file, line); ++cases) {
    const json test = json::parse(line);
    SCOPED_TRACE(task + ": " + test["case"].get<std::string>());
    const TestFiles files;
    const auto result = RunMetrics(OptionsOf(task, test, files));
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(result->verdict(), "unproven");
    for (const auto& [metric, value] : test["expected"]["reference"].items())
      ExpectValue(*result, metric, value, false);
    for (const auto& [metric, value] : test["expected"]["candidate"].items())
      ExpectValue(*result, metric, value, true);
    if (test.contains("details")) {
      const json details = json::parse(result->details);
      EXPECT_EQ(details["classes"], test["details"]["classes"]);
      EXPECT_EQ(details["confusion"], test["details"]["confusion"]);
    }
  }
  EXPECT_GE(cases, 3);
}

INSTANTIATE_TEST_SUITE_P(Tasks, PeersTest,
                         testing::Values("classification", "detection", "asr", "retrieval", "logits",
                                         "forecasting"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace plinth::verify::metrics
