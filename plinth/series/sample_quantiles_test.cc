#include "plinth/series/sample_quantiles.h"

#include <cmath>
#include <limits>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plinth::series {
namespace {

// Right values: torch.quantile (2.9.1) and chronos-forecasting 2.3.2's weighted_quantile, run in double.

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();
const std::vector<double> kPaths{0.2, 0.5, 0.9}, kLevels{0.1, 0.3, 0.5, 0.8};
const std::vector<double> kWanted{0, 0.01, 0.1, 0.25, 0.5, 0.6, 0.8, 0.95, 0.99, 1};
const std::vector<double> kTwelve{3, -1.5, 2.25, 7, 0.5, -2, 4, 11, 1, 6.5, -3, 5.5};

std::vector<double> Apply(const SampleQuantiles& q, const std::vector<double>& samples) {
  SampleQuantiles::Workspace workspace(q);
  std::vector<double> out(q.size(), -12345);
  q.Apply(samples, workspace, out);
  return out;
}

std::vector<double> Scattered(int count) {
  std::vector<double> samples;
  for (int k = 1; k <= count; ++k) samples.push_back((k * 7919 % 104729) / 1000.0 - 50);
  return samples;
}

// A few roundings of sums and products of numbers below 128.
MATCHER_P(Are, expected, "") {
  if (arg.size() != expected.size()) return false;
  for (size_t i = 0; i < expected.size(); ++i) {
    if (std::isnan(expected[i]) != std::isnan(arg[i])) return false;
    if (!std::isnan(arg[i]) && !(arg[i] == expected[i] || std::abs(arg[i] - expected[i]) < 2e-12)) {
      *result_listener << "element " << i << " is " << arg[i] << ", not " << expected[i];
      return false;
    }
  }
  return true;
}

auto Numbers(std::vector<double> values) { return Are(std::move(values)); }

TEST(SampleQuantilesAlike, InterpolatesRanks) {
  const std::vector<double> deciles{0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9};
  EXPECT_THAT(Apply(SampleQuantiles::Alike(deciles, 81), Scattered(81)),
              Numbers({-39.507999999999996, -29.807, -19.315, -9.613999999999997, 1.8689999999999998,
                       12.360999999999997, 22.061999999999998, 33.545, 44.037000000000006}));
  const std::vector<double> odd{0, 0.015, 0.333, 0.5, 0.99, 1};
  EXPECT_THAT(Apply(SampleQuantiles::Alike(odd, 12), kTwelve),
              Numbers({-3, -2.835, 0.8315000000000001, 2.625, 10.56, 11}));
  EXPECT_THAT(Apply(SampleQuantiles::Alike(odd, 1), {2.5}), Numbers({2.5, 2.5, 2.5, 2.5, 2.5, 2.5}));
}

TEST(SampleQuantilesAlike, LevelsOfTheSortedSamplesGiveThemBack) {
  // 0.3 * 10 and 0.7 * 10 round to whole ranks.
  const std::vector<double> levels{0, 0.1, 0.3, 0.7, 1};
  EXPECT_EQ(Apply(SampleQuantiles::Alike(levels, 11), {10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0}),
            (std::vector<double>{0, 1, 3, 7, 10}));
}

TEST(SampleQuantilesAlike, NotFinite) {
  const std::vector<double> levels{0.25, 0.5, 1};
  EXPECT_THAT(Apply(SampleQuantiles::Alike(levels, 3), {1, kNan, 2}), Numbers({kNan, kNan, kNan}));
  EXPECT_THAT(Apply(SampleQuantiles::Alike(levels, 3), {kInf, 1, 2}), Numbers({1.5, 2, kInf}));
  EXPECT_THAT(Apply(SampleQuantiles::Alike(levels, 3), {kInf, kInf, kInf}), Numbers({kInf, kInf, kInf}));
}

TEST(SampleQuantilesByMass, FollowsTheCumulativeWeights) {
  EXPECT_THAT(Apply(SampleQuantiles::ByMass(kPaths, kLevels, kWanted), kTwelve),
              Numbers({-3, -3, -2.8607142857142858, -1.5187499999999998, 2.775, 3.697142857142857,
                       6.5440000000000005, 9.34857142857143, 10.669714285714289, 11}));
}

TEST(SampleQuantilesByMass, PublishedSizes) {
  std::vector<double> paths, levels{0.01};
  for (int i = 1; i < 10; ++i) paths.push_back(i / 10.0);
  for (int i = 1; i < 20; ++i) levels.push_back(i / 20.0);
  levels.push_back(0.99);
  EXPECT_THAT(Apply(SampleQuantiles::ByMass(paths, levels, levels), Scattered(189)),
              Numbers({-49.2526,
                       -44.45059,
                       -39.70355555555555,
                       -34.73377000000001,
                       -29.379860000000008,
                       -25.016950000000012,
                       -19.382999999999996,
                       -14.430029999999956,
                       -9.550719999999933,
                       -3.880409999999916,
                       1.2735000000001042,
                       6.311010000000113,
                       11.98132000000013,
                       17.513000000000044,
                       22.56824000000015,
                       28.317650000000175,
                       33.5924600000002,
                       39.10407777777801,
                       44.49578000000024,
                       49.45419000000024,
                       53.581600000000066}));
}

TEST(SampleQuantilesByMass, EqualSamplesKeepTheirOrder) {
  // The level of the first of equal samples is that of the one that came first.
  EXPECT_THAT(Apply(SampleQuantiles::ByMass(kPaths, kLevels, kWanted), {1, 1, 2, 2, 1, 2, 2, 3, 1, 1, 3, 3}),
              Numbers({1, 1, 1, 1, 2, 2, 2.7771428571428576, 3, 3, 3}));
  EXPECT_EQ(Apply(SampleQuantiles::ByMass(kPaths, kLevels, kWanted), std::vector<double>(12, 4.0)),
            std::vector<double>(10, 4.0));
  // Both zeros are one number, whatever their signs.
  const std::vector<double> half{0.5};
  const SampleQuantiles two = SampleQuantiles::ByMass(half, std::vector<double>{0.2, 0.9}, half);
  EXPECT_EQ(Apply(two, {-0.0, 0.0}), Apply(two, {0.0, -0.0}));
}

TEST(SampleQuantilesByMass, ALevelThatASampleStandsAtGivesTheSample) {
  const double end = 0.2;  // masses of {0.2, 0.6}: 0.3 and 0.4, so levels 3/7 and 1
  const std::vector<double> half{0.5};
  const SampleQuantiles q = SampleQuantiles::ByMass(half, std::vector<double>{end, 0.6},
                                                    std::vector<double>{0, 3.0 / 7, 5.0 / 7, 1});
  EXPECT_THAT(Apply(q, {10, 20}), Numbers({10, 10, 15, 20}));
}

TEST(SampleQuantilesByMass, WantedLevelsInAnyOrder) {
  const std::vector<double> wanted{0.99, 0.1, 0.5, 0.5};
  EXPECT_THAT(Apply(SampleQuantiles::ByMass(kPaths, kLevels, wanted), kTwelve),
              Numbers({10.669714285714289, -2.8607142857142858, 2.775, 2.775}));
}

TEST(SampleQuantilesByMass, NotFinite) {
  std::vector<double> samples = kTwelve;
  samples[1] = samples[7] = kNan;
  // The original's numbers; beyond the last finite sample they are NaN.
  const auto got = Apply(SampleQuantiles::ByMass(kPaths, kLevels, kWanted), samples);
  EXPECT_NEAR(got[3], 0.2917, 5e-5);
  EXPECT_NEAR(got[4], 3.4429, 5e-5);
  EXPECT_NEAR(got[6], 6.9440, 5e-5);
  EXPECT_TRUE(std::isnan(got[7]) && std::isnan(got[8]) && std::isnan(got[9]));
  EXPECT_THAT(Apply(SampleQuantiles::ByMass(kPaths, kLevels, kWanted), std::vector<double>(12, kNan)),
              Numbers(std::vector<double>(10, kNan)));
  EXPECT_EQ(Apply(SampleQuantiles::ByMass(kPaths, kLevels, kWanted), std::vector<double>(12, -kInf)),
            std::vector<double>(10, -kInf));
}

TEST(SampleQuantilesByMass, OneSample) {
  const std::vector<double> half{0.5};
  EXPECT_EQ(Apply(SampleQuantiles::ByMass(half, half, kWanted), {2.5}), std::vector<double>(10, 2.5));
}

TEST(SampleQuantiles, AscendWithTheLevel) {
  std::vector<double> fine;
  for (int i = 0; i <= 1000; ++i) fine.push_back(i / 1000.0);
  for (const auto& q : {SampleQuantiles::ByMass(kPaths, kLevels, fine), SampleQuantiles::Alike(fine, 12)}) {
    const auto got = Apply(q, kTwelve);
    EXPECT_TRUE(std::is_sorted(got.begin(), got.end()));
    EXPECT_EQ(got.front(), -3);
    EXPECT_EQ(got.back(), 11);
  }
}

TEST(SampleQuantiles, OneForSeveralThreads) {
  const SampleQuantiles q = SampleQuantiles::ByMass(kPaths, kLevels, kWanted);
  const auto expected = Apply(q, kTwelve);
  std::vector<int> equal(4, 0);
  std::vector<std::thread> threads;
  for (int& count : equal) {
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) count += Apply(q, kTwelve) == expected;
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(equal, (std::vector<int>{1000, 1000, 1000, 1000}));
}

}  // namespace
}  // namespace plinth::series
