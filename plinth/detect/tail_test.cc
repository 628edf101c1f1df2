#include "plinth/detect/tail.h"

#include <cmath>
#include <limits>

#include "gtest/gtest.h"
#include "plinth/base/random.h"

namespace plinth::detect {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Numbers at the middle of equally likely slices of a distribution, mixed up.
template <typename Inverse>
std::vector<double> Exactly(int64_t n, Inverse inverse) {
  std::vector<double> x;
  for (int64_t i = 0; i < n; ++i) {
    const int64_t k = (i * 7919) % n;
    x.push_back(inverse((static_cast<double>(k) + 0.5) / static_cast<double>(n)));
  }
  return x;
}
std::vector<double> Exponential(int64_t n) {
  return Exactly(n, [](double u) { return -std::log1p(-u); });
}

TEST(FitTail, FindsShapeAndScaleOfTheirOwnFamily) {
  for (const double shape : {0.0, 0.1, 0.2}) {
    const double scale = 3;
    const auto x = Exactly(20000, [&](double u) {
      return shape == 0 ? -scale * std::log1p(-u) : scale * (std::pow(1 - u, -shape) - 1) / shape;
    });
    const Tail tail = FitTail(x, 5, 1e-9);
    EXPECT_NEAR(tail.shape, shape, 1e-3);
    EXPECT_NEAR(tail.scale, scale, 5e-3);
    EXPECT_NEAR(tail.Survival(tail.Value(1e-4)), 1e-4, 1e-12);
    EXPECT_EQ(tail.Survival(5), 1);
  }
}

TEST(FitTail, StandsAnomaliesAndNothingAtAll) {
  auto x = Exponential(1000);
  for (size_t i = 0; i < 200; ++i) x[i * 5] = 1e6;
  // A fifth at one value: the median lies at rank 0.5 / 0.8 of the others.
  EXPECT_LT(FitTail(x, 0, 1e-9).scale, 3);
  EXPECT_EQ(FitTail({}, 2, 0.5).scale, 0.5);
  EXPECT_EQ(FitTail(std::vector<double>(5, 0.0), 2, 0.5).scale, 0.5);
}

TEST(Surprise, IsTheLogarithmOfTheTailProbability) {
  const Surprise surprise(Exponential(20000));
  // P(x > s) = exp(-s), below and above the 0.9 quantile (2.3).
  for (const double s : {0.2, 1.0, 2.0, 4.0, 9.0}) {
    EXPECT_NEAR(surprise.Of(s), s / std::log(10.0), 0.01 + 0.005 * s) << s;
  }
  EXPECT_EQ(surprise.Of(-1), 0);
  EXPECT_EQ(surprise.Of(1e9), Surprise::kMost);
  EXPECT_EQ(surprise.Of(std::numeric_limits<double>::infinity()), Surprise::kMost);
  EXPECT_TRUE(std::isnan(surprise.Of(kNan)));
}

TEST(Surprise, NeverFalls) {
  Random random(3);
  std::vector<double> x;
  for (int i = 0; i < 50; ++i) x.push_back(std::floor(random.Uniform(0, 6)));
  const Surprise surprise(x);
  double last = 0;
  for (double s = -1; s < 20; s += 0.01) {
    EXPECT_GE(surprise.Of(s), last) << s;
    last = surprise.Of(s);
  }
}

TEST(Surprise, OfEqualNumbersOrNone) {
  const Surprise none(std::vector<double>{kNan, kNan});
  EXPECT_EQ(none.Of(5), 0);
  const Surprise equal(std::vector<double>(100, 2.0));
  EXPECT_EQ(equal.Of(1.9), 0);
  EXPECT_GT(equal.Of(2.1), 6);
}

TEST(EventsAbove, JoinsWhatLiesClose) {
  const std::vector<double> s{0, 5, 0, 6, kNan, 0, 0, 7, 7, 0};
  const auto events = EventsAbove(s, 5, 2);
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].begin, 1);
  EXPECT_EQ(events[0].end, 4);
  EXPECT_EQ(events[0].peak_row, 3);
  EXPECT_EQ(events[0].peak, 6);
  EXPECT_EQ(events[1].begin, 7);
  EXPECT_EQ(events[1].end, 9);
  EXPECT_EQ(events[1].peak_row, 7);  // the first of equal ones
  EXPECT_EQ(EventsAbove(s, 5, 4).size(), 1u);
  EXPECT_TRUE(EventsAbove(s, 8, 4).empty());
}

// The threshold holds its rate on new numbers from the same process: independent ones, and ones that come in
// bursts of ten.
TEST(EventThreshold, KeepsFalseAlarmsAtTheRate) {
  for (const int burst : {1, 10}) {
    double events = 0;
    constexpr int kSeeds = 40, kRows = 5000;
    for (int seed = 0; seed < kSeeds; ++seed) {
      Random random(static_cast<uint64_t>(seed) + 1);
      std::vector<double> x;
      while (x.size() < 2 * kRows) {
        const double level = -std::log(1 - random.Uniform());
        for (int k = 0; k < burst; ++k) x.push_back(level);
      }
      const std::span<const double> all(x);
      const double threshold = EventThreshold(all.first(kRows), 1e-3, 2);
      events += static_cast<double>(EventsAbove(all.subspan(kRows), threshold, 2).size());
    }
    // 5 are allowed per seed. Neighbours that are joined have higher peaks than a single one, so that the
    // tail is taken for longer than it is: fewer are right, more are not. The mean over the seeds varies by
    // some 15 %.
    EXPECT_GT(events / kSeeds, 5 * 0.3) << burst;
    EXPECT_LT(events / kSeeds, 5 * 1.5) << burst;
  }
}

TEST(EventThreshold, OfFewNumbersAndNone) {
  EXPECT_EQ(EventThreshold(std::vector<double>{kNan}, 0.01, 1), std::numeric_limits<double>::infinity());
  const std::vector<double> constant(50, 1.0);
  EXPECT_GT(EventThreshold(constant, 0.001, 3), 1);
  EXPECT_TRUE(EventsAbove(constant, EventThreshold(constant, 0.001, 3), 3).empty());
}

}  // namespace
}  // namespace plinth::detect
