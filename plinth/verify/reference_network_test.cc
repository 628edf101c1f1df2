// Holds the network in double against what the original implementations computed in float64.
#include "plinth/verify/reference_network.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "plinth/verify/golden.h"
#include "plinth/verify/golden_query.h"

namespace plinth::verify {
namespace {

std::string Golden(const std::string& name) {
  const char* source = std::getenv("PLINTH_SOURCE_DIR");
  return StrCat(source == nullptr ? "." : source, "/tests/golden/", name);
}

class ReferenceNetworkTest : public testing::TestWithParam<const char*> {};

// Weights and scaled inputs are f32 and outputs are rounded to f32 once, so that about 2 u of the largest
// value may remain: far below what a plan in f32 needs.
TEST_P(ReferenceNetworkTest, GivesWhatTheOriginalGivesInDouble) {
  const std::string folder = Golden(GetParam());
  Threads threads(2);
  const Context context{&threads, Isa::kV2};
  auto session = engine::Session::Load(folder, context);
  ASSERT_TRUE(session.ok()) << session.status();
  auto golden = GoldenFolder::Open(folder + "/cases.json");
  ASSERT_TRUE(golden.ok()) << golden.status();
  int compared = 0;
  for (const GoldenCase& c : golden->cases()) {
    if (compared >= 8 || !c.reference_error.empty() || !c.outputs[0].finite) continue;
    auto query = MakeQuery(*golden, c, (*session)->model().info());
    if (!query.ok() || c.outputs[0].name != "quantiles") continue;
    const bool grouped = std::any_of(query->groups.begin(), query->groups.end(),
                                     [](const engine::Group& g) { return g.rows.size() > 1; });
    auto network = ReferenceNetwork::Make(**session, grouped);
    ASSERT_TRUE(network.ok()) << network.status();
    const auto forecasts =
        ReferenceForecast(*network, **session, query->groups,
                          {.horizon = query->horizon, .levels = (*session)->model().info().levels});
    ASSERT_TRUE(forecasts.ok()) << forecasts.status();
    const std::vector<double> ours = query->Arrange(*forecasts);
    const auto reference = golden->Output(c, "quantiles");
    ASSERT_TRUE(reference.ok());
    ASSERT_EQ(ours.size(), reference->data.size()) << c.name;
    double largest = 0, error = 0;
    for (size_t i = 0; i < ours.size(); ++i) {
      largest = std::max(largest, std::abs(reference->data[i]));
      error = std::max(error, std::abs(ours[i] - reference->data[i]));
    }
    EXPECT_LE(error, 8 * ops::kUnitRoundoff * largest) << c.name;
    ++compared;
  }
  EXPECT_EQ(compared, 8);
}

TEST_P(ReferenceNetworkTest, RecordsEveryLayerOfTheOriginal) {
  const std::string folder = Golden(GetParam());
  Threads threads(1);
  const Context context{&threads, Isa::kV2};
  auto session = engine::Session::Load(folder, context);
  ASSERT_TRUE(session.ok()) << session.status();
  auto network = ReferenceNetwork::Make(**session, /*grouped=*/false);
  ASSERT_TRUE(network.ok()) << network.status();
  std::vector<double> past(64);
  for (size_t i = 0; i < past.size(); ++i) past[i] = std::sin(0.3 * static_cast<double>(i));
  const models::Row row{past, {}};
  const std::span<const models::Row> group(&row, 1);
  const auto result = network->Run({&group, 1}, (*session)->model().info().stride, /*layers=*/true);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_GT(result->layers.size(), 10u);
  for (const auto& layer : result->layers) {
    EXPECT_FALSE(layer.op.empty());
    for (const double x : layer.value.data) ASSERT_TRUE(std::isfinite(x)) << layer.name;
  }
}

TEST(ReferenceNetwork, StopsWhenAsked) {
  Threads threads(1);
  const Context context{&threads, Isa::kV2};
  auto session = engine::Session::Load(Golden("plinth_ts_rand"), context);
  ASSERT_TRUE(session.ok()) << session.status();
  auto network = ReferenceNetwork::Make(**session, /*grouped=*/false);
  ASSERT_TRUE(network.ok()) << network.status();
  const std::vector<double> past(64, 1.0);
  const models::Row row{past, {}};
  const std::span<const models::Row> group(&row, 1);
  const auto result =
      network->Run({&group, 1}, (*session)->model().info().stride, false, [] { return true; });
  EXPECT_TRUE(absl::IsCancelled(result.status()));
}

INSTANTIATE_TEST_SUITE_P(Models, ReferenceNetworkTest,
                         testing::Values("chronos2_rand", "chronos_bolt_rand", "plinth_ts_rand",
                                         "plinth_ts_real"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace plinth::verify
