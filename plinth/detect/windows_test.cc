#include "plinth/detect/windows.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "gtest/gtest.h"
#include "plinth/base/random.h"

namespace plinth::detect {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// A sine with noise whose cycle at row 700 is flat.
std::vector<double> Broken() {
  Random random(8);
  std::vector<double> y;
  for (int t = 0; t < 1000; ++t)
    y.push_back((t >= 700 && t < 725 ? 0 : std::sin(2 * M_PI * t / 25)) + 0.05 * random.Normal());
  return y;
}

size_t Highest(const std::vector<double>& scores) {
  size_t best = 0;
  for (size_t t = 0; t < scores.size(); ++t) {
    if (!std::isnan(scores[t]) && (std::isnan(scores[best]) || scores[t] > scores[best])) best = t;
  }
  return best;
}

TEST(ToRows, MeansAndEnds) {
  const std::vector<double> windows{1, 2, kNan, 4};
  const auto causal = ToRows(windows, 6, {3, 0, true});
  EXPECT_TRUE(std::isnan(causal[0]) && std::isnan(causal[1]) && std::isnan(causal[4]));
  EXPECT_EQ(causal[2], 1);
  EXPECT_EQ(causal[3], 2);
  EXPECT_EQ(causal[5], 4);
  // Rows near the ends take the nearest two of the windows.
  const auto mean = ToRows(windows, 6, {3, 0, false});
  const std::vector<double> want{1.5, 1.5, 1.5, 3, 4, 4};
  for (size_t t = 0; t < 6; ++t) EXPECT_EQ(mean[t], want[t]) << t;
}

TEST(SubPcaScore, FindsTheBrokenCycle) {
  const Column c = MakeColumn(Broken(), 500);
  const auto spread = SubPcaScore(c, {25, 500, false});
  EXPECT_NEAR(static_cast<double>(Highest(spread)), 712, 15);
  const auto causal = SubPcaScore(c, {25, 500, true});
  EXPECT_NEAR(static_cast<double>(Highest(causal)), 724, 15);
  EXPECT_TRUE(std::isnan(causal[23]));
  EXPECT_GT(causal[715], 2 * causal[690]);
}

TEST(ProfileScore, EqualsTheDistanceToTheNearestNormalWindow) {
  Random random(9);
  std::vector<double> y;
  for (int t = 0; t < 90; ++t) y.push_back(random.Normal());
  y[40] = kNan;
  const Column c = MakeColumn(y, 60);
  for (const int64_t learn : {60, 90}) {
    const int64_t m = 8;
    const auto scores = ProfileScore(c, {m, learn, true}, 1000);
    for (int64_t i = 0; i + m <= 90; ++i) {
      double best = std::numeric_limits<double>::infinity();
      for (int64_t j = 0; j + m <= learn; ++j) {
        if (std::abs(i - j) < m / 2) continue;
        double mi = 0, mj = 0, d = 0;
        for (int64_t k = 0; k < m; ++k)
          mi += c.z[static_cast<size_t>(i + k)] / m, mj += c.z[static_cast<size_t>(j + k)] / m;
        for (int64_t k = 0; k < m; ++k)
          d += std::pow(c.z[static_cast<size_t>(i + k)] - mi - c.z[static_cast<size_t>(j + k)] + mj, 2);
        best = std::min(best, std::sqrt(d / m));
      }
      EXPECT_NEAR(scores[static_cast<size_t>(i + m - 1)], best, 1e-12) << i;
    }
  }
}

TEST(ProfileScore, FindsTheBrokenCycleAndKeepsItsReach) {
  const Column c = MakeColumn(Broken(), 500);
  EXPECT_NEAR(static_cast<double>(Highest(ProfileScore(c, {25, 500, false}, 1000))), 712, 15);
  // Too far from any normal window.
  EXPECT_TRUE(std::isnan(ProfileScore(c, {25, 500, true}, 100)[900]));
}

TEST(WindowScores, OfSpikesGapsConstantsAndShortColumns) {
  std::vector<double> spike = Broken();
  spike[200] = 1e12;
  for (size_t t = 300; t < 340; ++t) spike[t] = kNan;
  const Column c = MakeColumn(spike, 1000);
  const auto profile = ProfileScore(c, {25, 1000, true}, 1000);
  // One row is no shape.
  EXPECT_LT(profile[210], 0.5);
  for (size_t t = 200; t < 210; ++t) spike[t] = 1e12;
  const auto burst = ProfileScore(MakeColumn(spike, 1000), {25, 1000, true}, 1000);
  EXPECT_GT(burst[210], 100);
  // It is forgotten once it has left the window.
  EXPECT_LT(burst[260], 0.5);
  EXPECT_TRUE(std::isnan(profile[330]));
  EXPECT_TRUE(std::isnan(SubPcaScore(c, {25, 1000, true})[330]));
  const Column constant = MakeColumn(std::vector<double>(100, 5.0), 100);
  for (const double s : SubPcaScore(constant, {10, 100, false})) EXPECT_EQ(s, 0);
  for (const double s : ProfileScore(constant, {10, 100, false}, 100)) EXPECT_EQ(s, 0);
  const Column tiny = MakeColumn(std::vector<double>{1, 2, 3}, 3);
  EXPECT_TRUE(std::isnan(SubPcaScore(tiny, {8, 3, false})[0]));
  EXPECT_TRUE(std::isnan(ProfileScore(tiny, {2, 3, false}, 100)[0]) ||
              ProfileScore(tiny, {2, 3, false}, 100)[0] >= 0);
}

}  // namespace
}  // namespace plinth::detect
