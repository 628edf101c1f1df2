#include "plinth/detect/relate.h"

#include <cmath>
#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "plinth/base/random.h"
#include "plinth/detect/whiten.h"

namespace plinth::detect {
namespace {

using ::testing::HasSubstr;
using Values = std::vector<std::vector<double>>;

StatusOr<Relations> RelationsOf(const Values& values, const RelateOptions& options = {}, int threads = 1) {
  std::vector<std::span<const double>> spans(values.begin(), values.end());
  Threads pool(threads);
  return Relate(std::span<const std::span<const double>>(spans), options, pool);
}

// First-order autoregressions, independent of each other, on a cycle that all share.
Values Independent(uint64_t seed, size_t columns, int rows, double memory, double cycle = 0) {
  Random random(seed);
  Values values(columns);
  for (auto& y : values) {
    double x = 0;
    for (int t = 0; t < rows; ++t) {
      x = memory * x + random.Normal();
      y.push_back(x + cycle * std::sin(2 * M_PI * t / 24));
    }
  }
  return values;
}

TEST(Autoregression, FindsItsCoefficients) {
  Random random(3);
  std::vector<double> x{0, 0};
  for (int t = 0; t < 20000; ++t)
    x.push_back(0.6 * x[x.size() - 1] - 0.3 * x[x.size() - 2] + random.Normal());
  const auto a = Autoregression(x, 8);
  ASSERT_GE(a.size(), 2u);
  EXPECT_NEAR(a[0], 0.6, 0.03);
  EXPECT_NEAR(a[1], -0.3, 0.03);
  EXPECT_TRUE(Autoregression(std::vector<double>(50, 0.0), 4).empty());
}

TEST(Relate, FindsPlantedLagsAndTheirDirection) {
  for (const int64_t lag : {1, 7, 23}) {
    Values v = Independent(static_cast<uint64_t>(lag), 4, 1500, 0.8, 3);
    // Column 2 follows what is new in column 0; column 3 is driven by no one.
    for (size_t t = static_cast<size_t>(lag); t < v[2].size(); ++t)
      v[2][t] += 0.8 * v[0][t - static_cast<size_t>(lag)];
    const auto found = RelationsOf(v);
    ASSERT_TRUE(found.ok()) << found.status();
    ASSERT_GE(found->found.size(), 1u);
    EXPECT_EQ(found->found[0].leader, 0);
    EXPECT_EQ(found->found[0].follower, 2);
    EXPECT_EQ(found->found[0].lag, lag);
    EXPECT_GT(found->found[0].correlation, 0.3);
    EXPECT_LT(found->found[0].p_value, 1e-6);
    // The level is a share of false ones: now and then there is one beside.
    EXPECT_LE(found->found.size(), 2u);
    EXPECT_EQ(found->tested, 18);
  }
}

TEST(Relate, FindsWhatMovesTogetherThroughGapsAndSpikes) {
  Values v = Independent(5, 3, 1200, 0.5);
  for (size_t t = 0; t < v[0].size(); ++t) v[1][t] -= v[0][t];
  for (size_t t = 100; t < 1200; t += 37) v[0][t] = std::nan("");
  v[2][500] = 1e9;
  v[1][501] = -1e9;
  const auto found = RelationsOf(v);
  ASSERT_TRUE(found.ok());
  ASSERT_GE(found->found.size(), 1u);
  EXPECT_EQ(found->found[0].leader, 0);
  EXPECT_EQ(found->found[0].follower, 1);
  EXPECT_EQ(found->found[0].lag, 0);
  EXPECT_LT(found->found[0].correlation, -0.4);
}

// 200 sets of four independent columns with memory, half of them with one cycle. At the level 0.05 at most
// ten may show a relation.
TEST(Relate, IsSilentOnIndependentColumnsWithMemory) {
  int finds = 0;
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    const double memory = seed % 3 == 0 ? 0.97 : seed % 3 == 1 ? 0.6 : 0.9;
    const auto found =
        RelationsOf(Independent(1000 + seed, 4, 600, memory, seed % 2 == 0 ? 5 : 0), {.most_lag = 24});
    ASSERT_TRUE(found.ok());
    finds += found->found.empty() ? 0 : 1;
  }
  EXPECT_LE(finds, 10) << "of 200 at the level 0.05";
}

TEST(Relate, NamesSilentColumnsAndHasTheSameBitsOnAnyThreads) {
  Values v = Independent(8, 5, 700, 0.7);
  v[3].assign(700, 4.5);
  for (size_t t = 3; t < 700; ++t) v[4][t] += v[1][t - 3];
  v[2].erase(v[2].begin(), v[2].begin() + 200);  // begins later
  const auto one = RelationsOf(v), three = RelationsOf(v, {}, 3);
  ASSERT_TRUE(one.ok() && three.ok());
  EXPECT_EQ(one->silent, std::vector<int64_t>{3});
  ASSERT_EQ(one->found.size(), three->found.size());
  for (size_t i = 0; i < one->found.size(); ++i) {
    EXPECT_EQ(one->found[i].correlation, three->found[i].correlation);
    EXPECT_EQ(one->found[i].p_value, three->found[i].p_value);
  }
}

TEST(Relate, RefusesWhatMakesNoSense) {
  const Values v = Independent(1, 2, 100, 0.5);
  EXPECT_THAT(std::string(RelationsOf({v[0]}).status().message()),
              HasSubstr("1 column; relations need at least two"));
  EXPECT_THAT(std::string(RelationsOf(v, {.most_lag = 0}).status().message()), HasSubstr("largest lag is 0"));
  EXPECT_THAT(std::string(RelationsOf(v, {.level = 1}).status().message()), HasSubstr("level is 1"));
  EXPECT_THAT(std::string(RelationsOf(Independent(1, 2, 63, 0.5)).status().message()), HasSubstr("63 rows"));
  EXPECT_THAT(std::string(RelationsOf(Values(129, v[0])).status().message()), HasSubstr("129 columns"));
}

}  // namespace
}  // namespace plinth::detect
