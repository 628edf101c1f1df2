#include "plinth/series/scaling.h"

#include <cmath>
#include <limits>
#include <vector>

#include "gtest/gtest.h"

namespace plinth::series {
namespace {

const double kNan = std::numeric_limits<double>::quiet_NaN();
const double kInf = std::numeric_limits<double>::infinity();

// Two passes in long double: 11 bits more than what is tested.
Scale Reference(const std::vector<double>& y) {
  long double sum = 0, squares = 0;
  int n = 0;
  for (double v : y) {
    if (std::isfinite(v)) sum += v, ++n;
  }
  const long double loc = sum / n;
  for (double v : y) {
    if (std::isfinite(v)) squares += (v - loc) * (v - loc);
  }
  return {static_cast<double>(loc), static_cast<double>(std::sqrt(squares / n))};
}

TEST(MeanStd, SmallNumbers) {
  const Scale s = MeanStd(std::vector<double>{1, 2, 3, 4});
  EXPECT_DOUBLE_EQ(s.loc, 2.5);
  EXPECT_DOUBLE_EQ(s.scale, std::sqrt(1.25));
}

TEST(MeanStd, IgnoresGaps) {
  const Scale s = MeanStd(std::vector<double>{kNan, 1, kInf, 3, -kInf});
  EXPECT_DOUBLE_EQ(s.loc, 2);
  EXPECT_DOUBLE_EQ(s.scale, 1);
}

TEST(MeanStd, NothingObserved) {
  for (const auto& y : {std::vector<double>{}, {kNan, kNan}, {kInf}}) {
    EXPECT_EQ(MeanStd(y).loc, 0);
    EXPECT_EQ(MeanStd(y).scale, 1);
  }
}

TEST(MeanStd, ConstantHasScaleOne) {
  for (double level : {0.0, 7.0, -1e-300, 1e12, 0.1}) {
    const Scale s = MeanStd(std::vector<double>(513, level));
    EXPECT_DOUBLE_EQ(s.loc, level);
    EXPECT_EQ(s.scale, 1) << level;
  }
}

TEST(MeanStd, ScaleMustExceedTheFloor) {
  // Deviation 0.5 around 0.5 + 1e12: above 1e-13, below 1e-12 of the level.
  const std::vector<double> y{1e12, 1e12 + 1};
  EXPECT_EQ(MeanStd(y).scale, 1);
  EXPECT_DOUBLE_EQ(MeanStd(y, 1e-13).scale, 0.5);
}

TEST(MeanStd, KeepsTheDigitsOfSmallVariations) {
  for (auto [level, variation] : {std::pair{1e6, 1e-3}, {1e12, 1.0}, {1e12, 1e2}, {-1e3, 1e-8}}) {
    std::vector<double> y;
    for (int i = 0; i < 2000; ++i) y.push_back(level + variation * std::sin(0.37 * i));
    const Scale s = MeanStd(y, 1e-14), want = Reference(y);
    EXPECT_NEAR(s.loc, want.loc, 2e-16 * std::abs(level));
    // A mean that is off by e adds e^2 to the variance; e is at most one unit in the last place.
    const double e = std::abs(level) * 0x1p-52;
    EXPECT_NEAR(s.scale / want.scale, 1, 1e-14 + e * e / (want.scale * want.scale)) << level;
  }
}

TEST(MeanStd, LongSeriesLoseNothing) {
  std::vector<double> y;
  for (int i = 0; i < 1'000'000; ++i) y.push_back(1e6 + 1e-3 * std::sin(i) + (i % 7 == 0 ? 1e-9 : 0));
  const Scale s = MeanStd(y), want = Reference(y);
  EXPECT_NEAR(s.loc, want.loc, 2.4e-10);  // two units in the last place of 1e6
  EXPECT_NEAR(s.scale / want.scale, 1, 1e-12);
}

TEST(MeanStd, SquaresThatLeaveTheRange) {
  for (double unit : {1e300, 1e-300, 1e-310}) {
    const Scale s = MeanStd(std::vector<double>{-unit, unit, 3 * unit, 5 * unit});
    EXPECT_NEAR(s.loc / unit, 2, 1e-12);
    EXPECT_NEAR(s.scale / unit, std::sqrt(5.0), 1e-12);
  }
  const double top = std::numeric_limits<double>::max();
  const Scale s = MeanStd(std::vector<double>{top, top, -top, -top});
  EXPECT_EQ(s.loc, 0);
  EXPECT_EQ(s.scale, top);
}

TEST(Standardise, CentresAndMarksGaps) {
  const std::vector<double> y{3, kNan, 1, -kInf, 5};
  std::vector<double> z(5);
  std::vector<uint8_t> observed(5);
  Standardise(y, {3, 2}, z, observed);
  EXPECT_EQ(z, (std::vector<double>{0, 0, -1, 0, 1}));
  EXPECT_EQ(observed, (std::vector<uint8_t>{1, 0, 1, 0, 1}));
}

TEST(Standardise, LargestNumbersStayFinite) {
  const double top = std::numeric_limits<double>::max();
  const std::vector<double> y{top, -top, -top, -top};
  std::vector<double> z(4);
  std::vector<uint8_t> observed(4);
  Standardise(y, MeanStd(y), z, observed);
  EXPECT_NEAR(z[0], std::sqrt(3.0), 1e-12);
  EXPECT_NEAR(z[1], -1 / std::sqrt(3.0), 1e-12);
}

}  // namespace
}  // namespace plinth::series
