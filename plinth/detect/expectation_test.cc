#include "plinth/detect/expectation.h"

#include <cmath>
#include <cstdlib>
#include <limits>

#include "gtest/gtest.h"
#include "plinth/base/random.h"
#include "plinth/series/quantiles.h"

namespace plinth::detect {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

std::string Source(const std::string& path) {
  const char* root = std::getenv("PLINTH_SOURCE_DIR");
  return (root == nullptr ? std::string(".") : std::string(root)) + "/" + path;
}

class ExpectationTest : public ::testing::Test {
 protected:
  ExpectationTest() : threads_(2) {
    context_.threads = &threads_;
    auto session = engine::Session::Load(Source("models/plinth-ts-0"), context_);
    EXPECT_TRUE(session.ok()) << session.status();
    session_ = *std::move(session);
    forecaster_ = std::make_unique<engine::SessionForecaster>(*session_);
  }
  static std::vector<double> Sine(int rows, double noise) {
    Random random(7);
    std::vector<double> y;
    for (int t = 0; t < rows; ++t)
      y.push_back(50 + 10 * std::sin(2 * M_PI * t / 24) + noise * random.Normal());
    return y;
  }
  Threads threads_;
  Context context_;
  std::unique_ptr<engine::Session> session_;
  std::unique_ptr<engine::SessionForecaster> forecaster_;
};

TEST_F(ExpectationTest, ForecastsAreThoseOfTheSessionFromTheRowsBefore) {
  const std::vector<Column> columns{MakeColumn(Sine(300, 0.5), 300), MakeColumn(Sine(150, 2), 150)};
  const auto all = ForecastRows(*forecaster_, columns, {100, 7, 40}, nullptr);
  ASSERT_TRUE(all.ok()) << all.status();
  const auto& e = (*all)[0];
  EXPECT_TRUE(std::isnan(e.middle[39]));
  for (const int64_t row : {40, 47, 299}) {
    const int64_t origin = 40 + (row - 40) / 7 * 7;
    const std::span<const double> past(columns[0].value.data() + std::max<int64_t>(0, origin - 100),
                                       static_cast<size_t>(std::min<int64_t>(origin, 100)));
    const auto alone = session_->Run(std::span(&past, 1), {7, 100, {0.1, 0.5, 0.9}});
    ASSERT_TRUE(alone.ok());
    const size_t h = static_cast<size_t>(row - origin);
    EXPECT_EQ(e.middle[static_cast<size_t>(row)], (*alone)[0].values[3 * h + 1]) << row;
    EXPECT_EQ(e.lower[static_cast<size_t>(row)], (*alone)[0].values[3 * h]) << row;
  }
  EXPECT_FALSE(std::isnan((*all)[1].middle[149]));
}

TEST_F(ExpectationTest, FillsHiddenSegmentsFromBothSidesBetterThanFromOne) {
  const auto y = Sine(400, 0.3);
  const std::vector<Column> columns{MakeColumn(y, 400)};
  const auto filled = FillRows(*forecaster_, columns, {0, 24, 64}, nullptr);
  const auto forecast = ForecastRows(*forecaster_, columns, {0, 24, 64}, nullptr);
  ASSERT_TRUE(filled.ok() && forecast.ok());
  double of_filled = 0, of_forecast = 0;
  for (size_t t = 64; t < 328; ++t) {
    of_filled += std::fabs(y[t] - (*filled)[0].middle[t]);
    of_forecast += std::fabs(y[t] - (*forecast)[0].middle[t]);
  }
  EXPECT_LT(of_filled, of_forecast);
  EXPECT_LT(of_filled / 264, 1);  // of an amplitude of 10
  // The first rows have what follows them, the last ones what came before.
  EXPECT_FALSE(std::isnan((*filled)[0].middle[20]));
  EXPECT_FALSE(std::isnan((*filled)[0].middle[399]));
}

TEST_F(ExpectationTest, NothingOfASegmentIsPartOfItsReconstruction) {
  auto y = Sine(400, 0.3);
  std::vector<Column> columns{MakeColumn(y, 400)};
  const auto before = FillRows(*forecaster_, columns, {0, 24, 64}, nullptr);
  for (size_t t = 160; t < 184; ++t) columns[0].value[t] = 1e4;  // the segment [160, 184)
  const auto after = FillRows(*forecaster_, columns, {0, 24, 64}, nullptr);
  ASSERT_TRUE(before.ok() && after.ok());
  for (size_t t = 160; t < 184; ++t) EXPECT_EQ((*after)[0].middle[t], (*before)[0].middle[t]);
  EXPECT_NE((*after)[0].middle[184], (*before)[0].middle[184]);
}

TEST(Calibrate, BandsHoldTheCoverageOnEachSide) {
  Random random(3);
  std::vector<double> y;
  Expectation e;
  for (int t = 0; t < 4000; ++t) {
    y.push_back(random.Normal());
    e.middle.push_back(0), e.lower.push_back(-0.3), e.upper.push_back(0.6);  // far too narrow, and lopsided
  }
  y[10] = kNan;
  const Column column = MakeColumn(y, 2000);
  Calibrate(column, 2000, 0.9, e);
  int inside = 0;
  for (size_t t = 2000; t < 4000; ++t) inside += y[t] >= e.lower[t] && y[t] <= e.upper[t] ? 1 : 0;
  EXPECT_NEAR(inside / 2000.0, 0.9, 0.03);  // four standard errors of both parts
  EXPECT_NEAR(e.upper[0] / -e.lower[0], 2, 1e-9);
  EXPECT_TRUE(std::isnan(e.off[10]));
  EXPECT_NEAR(e.off[11], std::fabs(y[11]) / (y[11] > 0 ? 0.6 : 0.3), 1e-12);
}

TEST(Calibrate, OfConstantsAndNothingIsFinite) {
  const std::vector<double> y(50, 5.0);
  Expectation e{y, y, y, {}};
  e.middle[7] = kNan;
  Calibrate(MakeColumn(y, 50), 50, 0.99, e);
  EXPECT_EQ(e.off[0], 0);
  EXPECT_TRUE(std::isnan(e.off[7]));
  EXPECT_LE(e.lower[0], 5);
  Expectation none{
      std::vector<double>(50, kNan), std::vector<double>(50, kNan), std::vector<double>(50, kNan), {}};
  Calibrate(MakeColumn(y, 50), 50, 0.99, none);
  EXPECT_TRUE(std::isnan(none.off[3]) && std::isnan(none.lower[3]));
}

}  // namespace
}  // namespace plinth::detect
