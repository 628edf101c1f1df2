#include "plinth/models/chronos_blocks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace plinth::models {
namespace {

using ops::Activation;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr double kGap = std::numeric_limits<double>::quiet_NaN();

std::vector<int64_t> Begins(PatchGrid grid, int64_t steps) {
  std::vector<int64_t> begins;
  for (int64_t i = 0; i < grid.Count(steps); ++i) begins.push_back(grid.Begin(steps, i));
  return begins;
}

TEST(PatchGridTest, CutsFromTheEndOfARowFilledUpToWholePatches) {
  EXPECT_THAT(Begins({8, 8}, 0), ElementsAre());
  EXPECT_THAT(Begins({8, 8}, 1), ElementsAre(-7));
  EXPECT_THAT(Begins({8, 8}, 16), ElementsAre(0, 8));
  EXPECT_THAT(Begins({8, 8}, 19), ElementsAre(-5, 3, 11));
  EXPECT_THAT(Begins({1, 1}, 3), ElementsAre(0, 1, 2));
}

TEST(PatchGridTest, PatchesOverlapOrLeaveStepsOut) {
  // 10 steps and 6 gaps before them make 16.
  EXPECT_THAT(Begins({8, 4}, 10), ElementsAre(-6, -2, 2));
  EXPECT_THAT(Begins({8, 1}, 9).size(), 9u);
  // A whole patch no longer fits at -6 + 2 * 5 = 4: the last step is in no patch.
  EXPECT_THAT(Begins({8, 5}, 10), ElementsAre(-6, -1));
  EXPECT_THAT(Begins({4, 12}, 30), ElementsAre(-2, 10, 22));
  EXPECT_THAT(Begins({4, 100}, 30), ElementsAre(-2));
}

TEST(ChronosScaleTest, IsTheMeanAndThePopulationDeviationOfWhatIsObserved) {
  const auto scale = [](std::vector<double> y) { return ChronosScale(y); };
  EXPECT_EQ(scale({kGap, 1, INFINITY, 3, kGap, -INFINITY}).loc, 2);
  EXPECT_EQ(scale({kGap, 1, INFINITY, 3, kGap, -INFINITY}).scale, 1);
  EXPECT_EQ(scale({2, 4, 4, 4, 5, 5, 7, 9}).loc, 5);
  EXPECT_EQ(scale({2, 4, 4, 4, 5, 5, 7, 9}).scale, 2);
  // A spread far below the level counts.
  EXPECT_EQ(scale({0x1p20 - 0x1p-10, 0x1p20 + 0x1p-10}).scale, 0x1p-10);
  EXPECT_NEAR(scale({1e-12, 3e-12}).scale, 1e-12, 1e-27);
}

TEST(ChronosScaleTest, ConstantAndEmptyRowsHaveTheirOwnScales) {
  const auto scale = [](std::vector<double> y) { return ChronosScale(y); };
  // Three times 0.1, divided by three, is not 0.1 in floating point.
  for (const double level : {7.5, 0.0, 0.1, -1e12, 1e308}) {
    const auto s = scale({level, kGap, level, level});
    EXPECT_EQ(s.loc, level);
    EXPECT_EQ(s.scale, 1e-5);
  }
  EXPECT_EQ(scale({4}).scale, 1e-5);
  for (const auto& nothing : {std::vector<double>{}, {kGap}, {kGap, INFINITY}}) {
    EXPECT_EQ(scale(nothing).loc, 0);
    EXPECT_EQ(scale(nothing).scale, 1);
  }
}

StatusOr<ChronosActivation> Read(std::string_view json) {
  const auto config = formats::Config::Parse(json, "m/config.json");
  EXPECT_TRUE(config.ok()) << config.status();
  return ReadChronosActivation(*config);
}

TEST(ChronosActivationTest, IsWhatTheConfigurationSays) {
  const auto expect = [](std::string_view json, Activation function, bool gated) {
    const auto act = Read(json);
    ASSERT_TRUE(act.ok()) << act.status();
    EXPECT_EQ(act->function, function) << json;
    EXPECT_EQ(act->gated, gated) << json;
  };
  expect("{}", Activation::kRelu, false);
  expect(R"({"feed_forward_proj":"gelu"})", Activation::kGelu, false);
  expect(R"({"feed_forward_proj":"gated-silu"})", Activation::kSilu, true);
  expect(R"({"feed_forward_proj":"gated-gelu"})", Activation::kGeluTanh, true);
  expect(R"({"feed_forward_proj":"relu","dense_act_fn":"tanh"})", Activation::kTanh, false);
  expect(R"({"feed_forward_proj":"gated-relu","is_gated_act":false})", Activation::kRelu, false);
  expect(R"({"dense_act_fn":"linear","is_gated_act":true})", Activation::kNone, true);
}

TEST(ChronosActivationTest, OthersAreRefused) {
  EXPECT_THAT(Read(R"({"dense_act_fn":"mish"})").status().message(),
              HasSubstr("m/config.json: the activation is \"mish\"; known ones are relu, gelu, gelu_new, "));
  EXPECT_THAT(Read(R"({"dense_act_fn":3})").status().message(), HasSubstr("dense_act_fn"));
  EXPECT_THAT(Read(R"({"is_gated_act":"yes"})").status().message(), HasSubstr("is_gated_act"));
}

}  // namespace
}  // namespace plinth::models
