#include "plinth/verify/metrics/paired.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "plinth/verify/metrics/test_files.h"

namespace plinth::verify::metrics {
namespace {

// Values of SciPy, and of a Tango interval that maximises the likelihood numerically (about 1e-8).
nlohmann::json Statistics() {
  std::ifstream file(SourcePath("tests/data/metrics/statistics.json"));
  return nlohmann::json::parse(file);
}

TEST(Paired, Wilson) {
  const nlohmann::json statistics = Statistics();
  for (const auto& row : statistics["wilson"]) {
    const auto [low, high] = WilsonInterval(row[0], row[1]);
    EXPECT_NEAR(low, row[2].get<double>(), 1e-12) << row;
    EXPECT_NEAR(high, row[3].get<double>(), 1e-12) << row;
  }
}

TEST(Paired, Tango) {
  const nlohmann::json statistics = Statistics();
  for (const auto& row : statistics["tango"]) {
    const auto [low, high] = TangoInterval(row[0], row[1], row[2]);
    EXPECT_NEAR(low, row[3].get<double>(), 1e-6) << row;
    EXPECT_NEAR(high, row[4].get<double>(), 1e-6) << row;
  }
  // Closed form where nothing differs.
  const double z2 = kNormal95 * kNormal95;
  EXPECT_NEAR(TangoInterval(0, 0, 50).second, z2 / (50 + z2), 1e-12);
  EXPECT_NEAR(TangoInterval(0, 0, 50).first, -z2 / (50 + z2), 1e-12);
  EXPECT_EQ(TangoInterval(4, 0, 4).second, 1);
  EXPECT_EQ(TangoInterval(0, 4, 4).first, -1);
}

TEST(Paired, McNemar) {
  const nlohmann::json statistics = Statistics();
  for (const auto& row : statistics["mcnemar"]) {
    const double right = row[2];
    EXPECT_NEAR(McNemarExact(row[0], row[1]), right, 1e-10 * right + 1e-15) << row;
  }
}

TEST(Paired, Student) {
  const nlohmann::json statistics = Statistics();
  for (const auto& row : statistics["student"]) {
    const double right = row[2];
    EXPECT_NEAR(StudentQuantile(row[0], row[1]), right, 1e-8 * std::max(1.0, std::abs(right))) << row;
  }
}

TEST(Paired, ExpandedPercentiles) {
  std::vector<double> draws(2001);
  for (size_t i = 0; i < draws.size(); ++i) draws[i] = static_cast<double>(i);
  // Many samples: the plain percentiles 2.5 % and 97.5 %.
  const auto [low, high] = ExpandedPercentile(draws, 1'000'000);
  EXPECT_NEAR(low, 50, 0.1);
  EXPECT_NEAR(high, 1950, 0.1);
  // Ten samples: tails of Phi(-sqrt(10/9) * t(0.975, 9)) = Phi(-2.3845) = 0.008551.
  EXPECT_NEAR(ExpandedPercentile(draws, 10).first, 2000 * 0.008551, 0.02);
  EXPECT_NEAR(ExpandedPercentile(draws, 2).first, 0, 1e-9);
  const std::vector<double> one = {3};
  EXPECT_EQ(ExpandedPercentile(one, 5), Interval(3, 3));
}

}  // namespace
}  // namespace plinth::verify::metrics
