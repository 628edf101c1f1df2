#include "plinth/series/metrics.h"

#include <cmath>
#include <limits>
#include <vector>

#include "gtest/gtest.h"
#include "plinth/series/quantiles.h"

namespace plinth::series {
namespace {

const double kNan = std::numeric_limits<double>::quiet_NaN();
const std::vector<double> kContext{3, 7, 4, 8, kNan, 5, 11, 4, 9.5, 6};
const std::vector<double> kTruth{10, 4, 9, -2, 12};

std::vector<double> Medians(const std::vector<double>& forecast, size_t levels = 9) {
  std::vector<double> out;
  for (size_t i = levels / 2; i < forecast.size(); i += levels) out.push_back(forecast[i]);
  return out;
}

// Numbers from a plain Python transcription of the protocol's seasonal_naive, mase and wql.
TEST(SeasonalNaive, AgreesWithTheProtocol) {
  const std::vector<double> f = SeasonalNaive(kContext, 5, 3, Deciles());
  const std::vector<double> first{-2.061083, 0.019563, 1.519854, 2.801798, 4.0,
                                  5.198202,  6.480146, 7.980437, 10.061083};
  const std::vector<double> fifth{0.928335,  3.870812,  5.992544,  7.805486, 9.5,
                                  11.194514, 13.007456, 15.129188, 18.071665};
  for (int i = 0; i < 9; ++i) {
    EXPECT_NEAR(f[i], first[i], 1e-6);
    EXPECT_NEAR(f[36 + i], fifth[i], 1e-6);
  }
  EXPECT_EQ(Medians(f), (std::vector<double>{4, 9.5, 6, 4, 9.5}));
}

TEST(SeasonalNaive, ShortContexts) {
  const std::vector<double> three{1, kNan, 2, 3};
  // As long as the season, or shorter: no spread, the whole repeated.
  for (int64_t season : {3, 4, 100}) {
    EXPECT_EQ(SeasonalNaive(three, 4, season, Deciles())[0], 1) << season;
    EXPECT_EQ(Medians(SeasonalNaive(three, 4, season, Deciles())), (std::vector<double>{1, 2, 3, 1}));
  }
  for (double v : SeasonalNaive(std::vector<double>{kNan, kNan}, 2, 1, Deciles())) EXPECT_TRUE(std::isnan(v));
  for (double v : SeasonalNaive({}, 2, 1, Deciles())) EXPECT_TRUE(std::isnan(v));
  EXPECT_TRUE(SeasonalNaive(three, 0, 1, Deciles()).empty());
}

TEST(SeasonalNaive, ConstantDifferencesHaveNoSpread) {
  std::vector<double> trend;
  for (int t = 0; t < 50; ++t) trend.push_back(t);
  const std::vector<double> f = SeasonalNaive(trend, 1, 7, Deciles());
  EXPECT_EQ(f, std::vector<double>(9, 43));
}

TEST(ScoreWindow, AgreesWithTheProtocol) {
  const std::vector<double> f = SeasonalNaive(kContext, 5, 3, Deciles());
  const std::vector<double> levels = Deciles();
  const Scores s = ScoreWindow(kTruth, {f, levels}, kContext, 3);
  EXPECT_NEAR(s.mase, 1.0036363636363637, 1e-14);
  EXPECT_NEAR(s.wql, 0.42993223959765176, 1e-7);  // the protocol rounds normal quantiles to 1e-7
  EXPECT_NEAR(s.mae, 4.6, 1e-14);
  EXPECT_NEAR(s.rmse, 4.847679857416329, 1e-14);
  EXPECT_EQ(s.coverage_80, 1.0);
}

TEST(ScoreWindow, ByHand) {
  const std::vector<double> levels{0.1, 0.5, 0.9};
  const std::vector<double> values{0, 2, 4, 1, 1, 1};
  const Scores s = ScoreWindow(std::vector<double>{3, 5}, {values, levels}, std::vector<double>{1, 2, 4}, 1);
  EXPECT_DOUBLE_EQ(s.mae, 2.5);              // |3 - 2|, |5 - 1|
  EXPECT_DOUBLE_EQ(s.rmse, std::sqrt(8.5));  // (1 + 16) / 2
  EXPECT_DOUBLE_EQ(s.mase, 2.5 / 1.5);       // (|2 - 1| + |4 - 2|) / 2
  EXPECT_DOUBLE_EQ(s.coverage_80, 0.5);      // 3 is inside 0 .. 4, 5 is not inside 1 .. 1
  const double pinball = 0.1 * 3 + 0.5 * 1 + 0.1 * 1 + (0.1 + 0.5 + 0.9) * 4;
  EXPECT_DOUBLE_EQ(s.wql, 2 * (pinball / 6) / 4);
}

TEST(ScoreWindow, GapsInTheTruthCountNowhere) {
  const std::vector<double> levels{0.1, 0.5, 0.9};
  const std::vector<double> values{0, 2, 4, 9, 9, 9}, one{0, 2, 4};
  const std::vector<double> context{1, 2, 4};
  const Scores with = ScoreWindow(std::vector<double>{3, kNan}, {values, levels}, context, 1);
  const Scores without = ScoreWindow(std::vector<double>{3}, {one, levels}, context, 1);
  EXPECT_EQ(with.mase, without.mase);
  EXPECT_EQ(with.wql, without.wql);
  EXPECT_EQ(with.rmse, without.rmse);
  EXPECT_EQ(with.coverage_80, without.coverage_80);
  const Scores none = ScoreWindow(std::vector<double>{kNan, kNan}, {values, levels}, context, 1);
  for (double v : {none.mase, none.wql, none.mae, none.rmse, none.coverage_80}) EXPECT_TRUE(std::isnan(v));
}

TEST(ScoreWindow, UndefinedScoresAreNan) {
  const std::vector<double> half{0.5}, two{2};
  const std::vector<double> context{1, 2, 4}, truth{3};
  Scores s = ScoreWindow(truth, {two, half}, context, 3);
  EXPECT_TRUE(std::isnan(s.mase));  // season as long as the context
  EXPECT_TRUE(std::isnan(s.coverage_80));
  EXPECT_EQ(s.mae, 1);
  EXPECT_TRUE(std::isnan(ScoreWindow(truth, {two, half}, {}, 1).mase));
  const std::vector<double> nothing{kNan};
  s = ScoreWindow(truth, {nothing, half}, context, 1);
  EXPECT_TRUE(std::isnan(s.mase) && std::isnan(s.wql) && std::isnan(s.mae) && std::isnan(s.rmse));
}

TEST(ScoreWindow, DenominatorsOfZeroLeaveNoScore) {
  const std::vector<double> half{0.5}, two{2}, flat(10, 5.0), nearly{5, 5 + 1e-13}, truth{3}, zero{0};
  Scores s = ScoreWindow(truth, {two, half}, flat, 1);
  EXPECT_TRUE(std::isnan(s.mase));
  EXPECT_EQ(s.mae, 1);
  EXPECT_DOUBLE_EQ(s.wql, 1.0 / 3);
  s = ScoreWindow(zero, {two, half}, std::vector<double>{1, 2}, 1);
  EXPECT_TRUE(std::isnan(s.wql));
  EXPECT_EQ(s.mase, 2);
  // A perfect forecast of a flat series has no MASE either.
  EXPECT_TRUE(std::isnan(ScoreWindow(std::vector<double>{2}, {two, half}, flat, 1).mase));
  // Differences of rounding alone are floored.
  EXPECT_DOUBLE_EQ(ScoreWindow(truth, {two, half}, nearly, 1).mase, 1e12);
}

TEST(NormalQuantile, KnownValues) {
  for (auto [p, z] : {std::pair{1e-6, -4.753424308822899},
                      {0.001, -3.090232306167813},
                      {0.025, -1.9599639845400538},
                      {0.1, -1.2815515655446008},
                      {0.3, -0.5244005127080407},
                      {0.5, 0.0},
                      {0.9, 1.2815515655446008},
                      {1e-20, -9.262340089798408}}) {
    EXPECT_NEAR(NormalQuantile(p), z, 2e-15 * std::abs(z)) << p;
  }
}

TEST(BacktestScores, MeansOverWindows) {
  const std::vector<double> levels = Deciles();
  const std::vector<double> exact_5(9, 5.0), off_by_2(9, 7.0);
  const std::vector<double> context{4, 5, 4, 6}, truth{5};
  BacktestScores scores(1);
  EXPECT_TRUE(std::isnan(scores.model().mase));
  scores.Add(truth, {exact_5, levels}, context);
  scores.Add(truth, {off_by_2, levels}, context);
  scores.Add(std::vector<double>{kNan}, {exact_5, levels}, context);  // nothing to score
  EXPECT_EQ(scores.windows(), 3);
  EXPECT_DOUBLE_EQ(scores.model().mae, 1);
  EXPECT_DOUBLE_EQ(scores.model().rmse, 1);
  EXPECT_DOUBLE_EQ(scores.model().mase, 0.75);  // 0 and 2 over a mean difference of 4 / 3
  EXPECT_DOUBLE_EQ(scores.model().coverage_80, 0.5);
  EXPECT_DOUBLE_EQ(scores.seasonal_naive().mae, 1);  // repeats 6
  EXPECT_DOUBLE_EQ(scores.relative_mase(), 1);
  EXPECT_GT(scores.relative_wql(), 0);
}

TEST(BacktestScores, FlatSeriesCountOnlyWhereTheyHaveAScore) {
  const std::vector<double> levels = Deciles();
  const std::vector<double> five(9, 5.0), gap{kNan}, zero{0}, truth{6};
  const std::vector<double> flat(8, 5.0), moving{4, 5, 4, 6};
  BacktestScores scores(1);
  scores.Add(truth, {five, levels}, flat);
  scores.Add(gap, {five, levels}, flat);  // no score at all, and no note
  EXPECT_TRUE(std::isnan(scores.model().mase));
  EXPECT_TRUE(std::isnan(scores.relative_mase()));
  scores.Add(truth, {five, levels}, moving);
  scores.Add(zero, {five, levels}, moving);
  EXPECT_EQ(scores.windows(), 4);
  EXPECT_EQ(scores.windows_without_mase(), 1);
  EXPECT_EQ(scores.windows_without_wql(), 1);
  EXPECT_DOUBLE_EQ(scores.model().mase, (1 + 5) / 2.0 / (4.0 / 3));
  EXPECT_DOUBLE_EQ(scores.model().wql, 1.0 / 6);
  EXPECT_DOUBLE_EQ(scores.seasonal_naive().mase, (0 + 6) / 2.0 / (4.0 / 3));
}

}  // namespace
}  // namespace plinth::series
