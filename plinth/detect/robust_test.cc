#include "plinth/detect/robust.h"

#include <cmath>
#include <limits>

#include "gtest/gtest.h"

namespace plinth::detect {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(Quantile, IsLinearBetweenNeighboursAndLeavesGapsOut) {
  const std::vector<double> x{4, kNan, 1, 3, 2, std::numeric_limits<double>::infinity()};
  EXPECT_EQ(Quantile(x, 0), 1);
  EXPECT_EQ(Quantile(x, 1), 4);
  EXPECT_DOUBLE_EQ(Quantile(x, 0.5), 2.5);
  EXPECT_DOUBLE_EQ(Quantile(x, 0.1), 1.3);  // rank 0.3
  EXPECT_EQ(Quantile(std::vector<double>{7}, 0.3), 7);
  EXPECT_TRUE(std::isnan(Quantile(std::vector<double>{}, 0.5)));
  EXPECT_TRUE(std::isnan(Quantile(std::vector<double>{kNan}, 0.5)));
}

TEST(SpreadOf, IsThatOfTheMiddleHalf) {
  // Median 3, deviations 2 1 0 1 1e6: their median is 1.
  const Spread s = SpreadOf(std::vector<double>{1, 2, 3, 4, 1e6});
  EXPECT_EQ(s.middle, 3);
  EXPECT_DOUBLE_EQ(s.scale, 1.4826);
}

TEST(SpreadOf, OfMostlyEqualNumbersIsTheMeanDeviation) {
  const Spread s = SpreadOf(std::vector<double>{5, 5, 5, 5, 10});
  EXPECT_EQ(s.middle, 5);
  EXPECT_DOUBLE_EQ(s.scale, 1.2533);  // of deviations 0 0 0 0 5
}

TEST(SpreadOf, IsAlwaysPositiveAndFinite) {
  EXPECT_DOUBLE_EQ(SpreadOf(std::vector<double>(9, 250.0)).scale, 250e-6);
  EXPECT_DOUBLE_EQ(SpreadOf(std::vector<double>(9, 0.0)).scale, 1e-9);
  EXPECT_EQ(SpreadOf(std::vector<double>{kNan, kNan}).scale, 1);
  const double large = std::numeric_limits<double>::max();
  EXPECT_TRUE(std::isfinite(SpreadOf(std::vector<double>{-large, large, -large, large}).scale));
}

}  // namespace
}  // namespace plinth::detect
