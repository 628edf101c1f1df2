#include "plinth/detect/column.h"

#include <cmath>
#include <limits>

#include "gtest/gtest.h"
#include "plinth/base/random.h"
#include "plinth/detect/fourier.h"

namespace plinth::detect {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(Transform, EqualsTheSum) {
  Random random(1);
  std::vector<std::complex<double>> x(32);
  for (auto& v : x) v = {random.Normal(), random.Normal()};
  auto fast = x;
  Transform(fast, false);
  for (size_t k = 0; k < x.size(); ++k) {
    std::complex<double> sum = 0;
    for (size_t t = 0; t < x.size(); ++t)
      sum += x[t] * std::polar(1.0, -2 * M_PI * static_cast<double>(k * t % 32) / 32);
    EXPECT_LT(std::abs(fast[k] - sum), 1e-13);
  }
  Transform(fast, true);
  for (size_t t = 0; t < x.size(); ++t) EXPECT_LT(std::abs(fast[t] - x[t]), 1e-15);
}

TEST(Autocorrelation, EqualsTheSum) {
  Random random(2);
  std::vector<double> x(50);
  for (double& v : x) v = random.Normal();
  const auto fast = Autocorrelation(x, 20);
  ASSERT_EQ(fast.size(), 21u);
  for (size_t l = 0; l <= 20; ++l) {
    double sum = 0;
    for (size_t t = 0; t + l < x.size(); ++t) sum += x[t] * x[t + l];
    EXPECT_NEAR(fast[l], sum, 1e-12);
  }
}

TEST(MakeColumn, BridgesGapsAndCutsSpikes) {
  std::vector<double> y{kNan, kNan, 1, 2, kNan, kNan, 5, 4, 3, std::numeric_limits<double>::infinity()};
  const Column c = MakeColumn(y, 10);
  // Median 3, deviations 2 1 2 1 0: 1.
  EXPECT_EQ(c.spread.middle, 3);
  const double unit = 1.4826;
  const std::vector<double> want{1, 1, 1, 2, 3, 4, 5, 4, 3, 3};
  for (size_t t = 0; t < want.size(); ++t) EXPECT_NEAR(c.z[t], (want[t] - 3) / unit, 1e-12) << t;
  EXPECT_TRUE(std::isnan(c.value[9]));
  EXPECT_EQ(c.gaps.back(), 5);
  EXPECT_FALSE(c.Known(0, 4));
  EXPECT_TRUE(c.Known(5, 9));
  y[6] = 1e9;
  EXPECT_EQ(MakeColumn(y, 10).z[6], kMostZ);
}

TEST(MakeColumn, WithoutAnyValueIsZero) {
  const Column c = MakeColumn(std::vector<double>(20, kNan), 20);
  for (const double z : c.z) EXPECT_EQ(z, 0);
  EXPECT_EQ(PeriodOf(c, 20, 100), 0);
}

TEST(MakeColumn, CalmsSpikesAndNothingElse) {
  std::vector<double> y;
  for (int t = 0; t < 200; ++t) y.push_back(10 * std::sin(2 * M_PI * t / 24) + (t >= 150 ? 30 : 0));
  const Column smooth = MakeColumn(y, 100);
  EXPECT_EQ(smooth.calm, smooth.z);  // neither crests nor a step are spikes
  y[50] = 60, y[80] = -70, y[81] = -75;
  const Column spiky = MakeColumn(y, 100);
  for (size_t t = 0; t < y.size(); ++t)
    EXPECT_EQ(spiky.calm[t] != spiky.z[t], t == 50 || t == 80 || t == 81) << t;
}

TEST(PeriodOf, FindsTheCycleInNoiseTrendAndSpikes) {
  Random random(4);
  std::vector<double> y;
  for (int t = 0; t < 600; ++t) y.push_back(std::sin(2 * M_PI * t / 24) + 0.01 * t + 0.3 * random.Normal());
  y[100] = 1e6;
  EXPECT_EQ(PeriodOf(MakeColumn(y, 600), 600, 200), 24);
}

TEST(PeriodOf, FindsNoneWhereThereIsNone) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Random random(seed);
    std::vector<double> noise, slow{0};
    for (int t = 0; t < 800; ++t) {
      noise.push_back(random.Normal());
      slow.push_back(0.9 * slow.back() + random.Normal());
    }
    EXPECT_EQ(PeriodOf(MakeColumn(noise, 800), 800, 200), 0) << seed;
    EXPECT_EQ(PeriodOf(MakeColumn(slow, 800), 800, 100), 0) << seed;
  }
  EXPECT_EQ(PeriodOf(MakeColumn(std::vector<double>(100, 3.0), 100), 100, 50), 0);
  EXPECT_EQ(PeriodOf(MakeColumn(std::vector<double>{1, 2, 3}, 3), 3, 50), 0);
}

}  // namespace
}  // namespace plinth::detect
