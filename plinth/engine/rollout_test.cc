#include "plinth/engine/rollout.h"

#include <cmath>
#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plinth::engine {
namespace {

using models::Continuation;
using models::ModelInfo;
using models::Row;
using ::testing::DoubleEq;
using ::testing::ElementsAre;
using Values = std::vector<double>;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

ModelInfo Info(int64_t stride, int64_t horizon, Values levels, Continuation continuation) {
  ModelInfo info;
  info.context_length = 4;
  info.horizon = horizon;
  info.stride = stride;
  info.levels = std::move(levels);
  info.continuation = std::move(continuation);
  return info;
}

Values Past(const Rollout& rollout, size_t row) {
  return {rollout.rows()[row].past.begin(), rollout.rows()[row].past.end()};
}

class RolloutTest : public ::testing::Test {
 protected:
  Threads threads_{2};
};

TEST_F(RolloutTest, StepsAreWholeStridesUpToTheHorizonOfAPass) {
  const ModelInfo info = Info(2, 6, {0.5}, {});
  const Values y = {1, 2};
  Rollout rollout(info, {{y, {}}}, {0, 1}, info.levels, 9);
  Values result(9);
  const std::vector<std::span<double>> results = {result};
  EXPECT_EQ(rollout.steps(), 6);
  rollout.Take(Values{1, 2, 3, 4, 5, 6}, results, threads_);
  EXPECT_EQ(rollout.steps(), 4);  // three are left
  rollout.Take(Values{7, 8, 9, 10}, results, threads_);
  EXPECT_EQ(rollout.steps(), 0);
  EXPECT_THAT(result, ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9));
}

TEST_F(RolloutTest, OnePathFollowsItsOwnLevelAndKeepsTheNextPass) {
  const ModelInfo info = Info(2, 2, {0.1, 0.5, 0.9}, {.paths = {0.5}});
  const Values y = {1, 2, 3};
  Rollout rollout(info, {{y, {}}}, {0, 1}, std::vector<double>{0.1, 0.9}, 4);
  Values result(8);
  const std::vector<std::span<double>> results = {result};
  EXPECT_EQ(Past(rollout, 0), y);
  rollout.Take(Values{10, 20, 30, 11, 21, 31}, results, threads_);
  ASSERT_EQ(rollout.paths(), 1u);
  EXPECT_THAT(Past(rollout, 0), ElementsAre(2, 3, 20, 21));  // no more than the context
  rollout.Take(Values{12, 22, 32, 13, 23, 33}, results, threads_);
  EXPECT_THAT(result, ElementsAre(10, 30, 11, 31, 12, 32, 13, 33));
}

TEST_F(RolloutTest, PathsBranchOnceAndTheirSamplesAreReduced) {
  // Two levels, two paths, all samples alike: of four sorted samples a..d the quantiles at 0 and 1 are a, d.
  const ModelInfo info = Info(1, 1, {0.25, 0.75}, {.paths = {0.25, 0.75}});
  const Values y = {5};
  Rollout rollout(info, {{y, {}}}, {0, 1}, info.levels, 3);
  Values result(6);
  const std::vector<std::span<double>> results = {result};
  rollout.Take(Values{6, 8}, results, threads_);
  ASSERT_EQ(rollout.paths(), 2u);
  EXPECT_THAT(Past(rollout, 0), ElementsAre(5, 6));
  EXPECT_THAT(Past(rollout, 1), ElementsAre(5, 8));
  rollout.Take(Values{1, 4, 2, 7}, results, threads_);  // samples 1 2 4 7; ranks 0.75 and 2.25
  EXPECT_THAT(Past(rollout, 0), ElementsAre(DoubleEq(5), DoubleEq(6), DoubleEq(1.75)));
  EXPECT_THAT(Past(rollout, 1), ElementsAre(DoubleEq(5), DoubleEq(8), DoubleEq(4.75)));
  rollout.Take(Values{3, 3, 3, 3}, results, threads_);
  EXPECT_THAT(result, ElementsAre(6, 8, DoubleEq(1.75), DoubleEq(4.75), 3, 3));
}

TEST_F(RolloutTest, GroupsKeepTheirRowsTogetherOnEachPath) {
  const ModelInfo info = Info(1, 1, {0.25, 0.75}, {.paths = {0.25, 0.75}});
  const Values a = {1}, b = {2}, c = {3};
  Rollout rollout(info, {{a, {}}, {b, {}}, {c, {}}}, {0, 2, 3}, info.levels, 2);
  Values ra(4), rc(4);
  const std::vector<std::span<double>> results = {ra, std::span<double>(), rc};  // b is a covariate
  rollout.Take(Values{10, 11, 20, 21, 30, 31}, results, threads_);
  ASSERT_EQ(rollout.rows().size(), 6u);
  EXPECT_THAT(Past(rollout, 0), ElementsAre(1, 10));  // group 0, path 0
  EXPECT_THAT(Past(rollout, 1), ElementsAre(2, 20));
  EXPECT_THAT(Past(rollout, 2), ElementsAre(1, 11));  // group 0, path 1
  EXPECT_THAT(Past(rollout, 3), ElementsAre(2, 21));
  EXPECT_THAT(Past(rollout, 4), ElementsAre(3, 30));  // group 1
  EXPECT_THAT(Past(rollout, 5), ElementsAre(3, 31));
}

TEST_F(RolloutTest, ValuesKnownAheadReplaceTheirForecasts) {
  const ModelInfo info = Info(2, 2, {0.5}, {});
  const Values y = {1}, known = {7, kNan, 8};
  Rollout rollout(info, {{y, known}}, {0, 1}, info.levels, 4);
  Values result(4);
  const std::vector<std::span<double>> results = {result};
  EXPECT_EQ(rollout.rows()[0].future.size(), 3u);
  rollout.Take(Values{20, 21}, results, threads_);
  EXPECT_THAT(Past(rollout, 0), ElementsAre(1, 7, 21));
  ASSERT_EQ(rollout.rows()[0].future.size(), 1u);
  EXPECT_EQ(rollout.rows()[0].future[0], 8);
  EXPECT_THAT(std::vector<double>(result.begin(), result.begin() + 2), ElementsAre(20, 21));
}

TEST_F(RolloutTest, ForecastsBeyondTheRangeOfDoublesStandAtItsEnd) {
  const ModelInfo info = Info(1, 1, {0.25, 0.75}, {.paths = {0.25, 0.75}});
  const Values y = {1};
  Rollout rollout(info, {{y, {}}}, {0, 1}, std::vector<double>{0.1, 0.25, 0.75}, 2);
  Values result(6);
  const std::vector<std::span<double>> results = {result};
  constexpr double kInf = std::numeric_limits<double>::infinity();
  rollout.Take(Values{-kInf, kInf}, results, threads_);
  rollout.Take(Values{-kInf, kInf, -kInf, kInf}, results, threads_);
  for (const double x : result) EXPECT_TRUE(std::isfinite(x)) << x;
}

}  // namespace
}  // namespace plinth::engine
