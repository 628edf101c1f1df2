#include "plinth/detect/detect.h"

#include <cmath>
#include <cstdlib>
#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "plinth/base/random.h"

namespace plinth::detect {
namespace {

using ::testing::HasSubstr;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
using Values = std::vector<std::vector<double>>;

std::string Source(const std::string& path) {
  const char* root = std::getenv("PLINTH_SOURCE_DIR");
  return (root == nullptr ? std::string(".") : std::string(root)) + "/" + path;
}

// An hourly cycle of a day with noise.
std::vector<double> Daily(uint64_t seed, int rows, double noise = 0.5) {
  Random random(seed);
  std::vector<double> y;
  for (int t = 0; t < rows; ++t) y.push_back(20 + 5 * std::sin(2 * M_PI * t / 24) + noise * random.Normal());
  return y;
}

class DetectTest : public ::testing::Test {
 protected:
  engine::Session& Get(int threads) {
    auto& made = sessions_[threads];
    if (made == nullptr) {
      pools_.push_back(std::make_unique<Threads>(threads));
      contexts_.push_back(std::make_unique<Context>(Context{pools_.back().get(), Isa::kV2}));
      auto session = engine::Session::Load(Source("models/plinth-ts-0"), *contexts_.back());
      EXPECT_TRUE(session.ok()) << session.status();
      made = *std::move(session);
    }
    return *made;
  }
  StatusOr<Detection> Run(const Values& values, const Options& options = {}, int threads = 1) {
    Series series;
    for (const auto& column : values) series.columns.emplace_back(column);
    series.rows_per_day = 24;
    return Detect(Get(threads), series, options);
  }
  std::string Refusal(const Values& values, const Options& options) {
    const auto result = Run(values, options);
    EXPECT_EQ(result.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(result.status().message());
  }
  static bool Hits(const Detection& d, int64_t begin, int64_t end, Reason reason) {
    for (const Alarm& a : d.alarms) {
      if (a.begin < end && begin < a.end && a.reason == reason) return true;
    }
    return false;
  }
  std::vector<std::unique_ptr<Threads>> pools_;
  std::vector<std::unique_ptr<Context>> contexts_;
  std::map<int, std::unique_ptr<engine::Session>> sessions_;
};

TEST_F(DetectTest, FindsPointsSubsequencesAndDriftsAndTellsThemApart) {
  std::vector<double> y = Daily(1, 2400);
  y[1100] += 15;
  for (size_t t = 1500; t < 1548; ++t)
    y[t] = 20 + 0.5 * std::sin(0.3 * static_cast<double>(t));  // the cycle stops
  for (size_t t = 2000; t < y.size(); ++t) y[t] += std::min(12.0, 0.1 * static_cast<double>(t - 2000));
  const auto d = Run({y});
  ASSERT_TRUE(d.ok()) << d.status();
  EXPECT_EQ(d->rows(), 2400);
  EXPECT_EQ(d->period, 24);
  EXPECT_EQ(d->window, 72);
  EXPECT_EQ(d->calibration, 600);
  EXPECT_TRUE(Hits(*d, 1100, 1101, Reason::kPoint));
  EXPECT_TRUE(Hits(*d, 1500, 1548, Reason::kSubsequence));
  EXPECT_TRUE(Hits(*d, 2050, 2400, Reason::kDrift));
  for (const Alarm& a : d->alarms) {
    EXPECT_GE(a.peak, d->threshold);
    EXPECT_EQ(a.columns.size(), 1u);
    // Window scores begin up to a window before.
    // Calibration alarms aside: what the allowed rate lets through.
    if (a.end <= d->calibration) continue;
    EXPECT_TRUE((a.begin >= 1028 && a.end <= 1173) || (a.begin >= 1392 && a.end <= 1657) || a.begin >= 1892)
        << a.begin << " " << a.end;
  }
  // The band holds what is normal and not the spike.
  int64_t inside = 0;
  for (size_t t = 600; t < 1000; ++t) inside += y[t] >= d->lower[0][t] && y[t] <= d->upper[0][t] ? 1 : 0;
  EXPECT_GE(inside, 380);
  EXPECT_GT(y[1100], d->upper[0][1100]);
}

TEST_F(DetectTest, KeepsFalseAlarmsNearTheAllowedRate) {
  int64_t alarms = 0;
  double days = 0;
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    const auto d = Run({Daily(seed, 2400)}, {.false_alarms_per_day = 0.05, .step = 16});
    ASSERT_TRUE(d.ok());
    for (const Alarm& a : d->alarms) alarms += a.begin >= d->calibration ? 1 : 0;
    days += (2400.0 - 600) / 24;
  }
  // 30 allowed in 600 days.
  EXPECT_LE(static_cast<double>(alarms), 2 * 0.05 * days);
}

TEST_F(DetectTest, NamesTheColumnsAndWhatMovedBefore) {
  Random random(4);
  Values v(5, std::vector<double>(2000));
  for (size_t t = 0; t < 2000; ++t) {
    for (auto& column : v) column[t] = random.Normal();
    if (t >= 6) v[3][t] += 0.9 * v[0][t - 6];
  }
  for (size_t t = 1500; t < 1520; ++t) v[0][t] += 8;
  for (size_t t = 1506; t < 1526; ++t) v[3][t] += 8;
  const auto d = Run(v, {.step = 8});
  ASSERT_TRUE(d.ok()) << d.status();
  const Alarm* alarm = nullptr;
  for (const Alarm& a : d->alarms) {
    if (a.begin < 1526 && a.end > 1500) alarm = &a;
  }
  ASSERT_NE(alarm, nullptr);
  double share = 0;
  for (const Contribution& c : alarm->columns) share += c.column == 0 || c.column == 3 ? c.share : 0;
  EXPECT_GT(share, 0.6);
  ASSERT_FALSE(alarm->causes.empty());
  EXPECT_EQ(alarm->causes[0].column, 0);
  EXPECT_EQ(alarm->causes[0].of, 3);
  EXPECT_EQ(alarm->causes[0].lag, 6);
  EXPECT_GE(alarm->causes[0].moved_row, 1480);
  EXPECT_LT(alarm->causes[0].moved_row, alarm->peak_row);
}

TEST_F(DetectTest, SameBitsOnAnyThreads) {
  Values v{Daily(1, 700), Daily(2, 700, 2), Daily(3, 700)};
  v[1][650] = 90;
  const auto one = Run(v, {}, 1), three = Run(v, {}, 3);
  ASSERT_TRUE(one.ok() && three.ok());
  EXPECT_EQ(one->alarms.size(), three->alarms.size());
  const auto equal = [](const std::vector<double>& a, const std::vector<double>& b) {
    ASSERT_EQ(a.size(), b.size());
    for (size_t t = 0; t < a.size(); ++t)
      ASSERT_TRUE(a[t] == b[t] || (std::isnan(a[t]) && std::isnan(b[t]))) << t;
  };
  equal(one->score, three->score);
  for (size_t s = 0; s < one->scores.size(); ++s) equal(one->surprise[s], three->surprise[s]);
  for (size_t c = 0; c < 3; ++c) equal(one->upper[c], three->upper[c]);
  EXPECT_EQ(one->threshold, three->threshold);
}

TEST_F(DetectTest, LastRowsAreThoseOfACausalRunOverTheSameHistory) {
  Values v{Daily(1, 900), Daily(2, 900)};
  v[0][880] = 60;
  Options stream;
  stream.last = 50;
  stream.history = 400;
  const auto last = Run(v, stream);
  ASSERT_TRUE(last.ok()) << last.status();
  EXPECT_EQ(last->first, 850);
  EXPECT_EQ(last->rows(), 50);
  EXPECT_EQ(last->calibration, 400);
  EXPECT_TRUE(Hits(*last, 880, 881, Reason::kPoint));
  EXPECT_GE(last->alarm[30], 0);
  // What comes later changes no earlier row.
  Values cut = v;
  for (auto& column : cut) column.resize(875);
  stream.last = 25;
  const auto earlier = Run(cut, stream);
  ASSERT_TRUE(earlier.ok());
  for (size_t t = 0; t < 25; ++t) EXPECT_EQ(earlier->score[t], last->score[t]) << t;
}

TEST_F(DetectTest, CalibratesOnTheFirstRowsThatAreLookedAt) {
  const Values v{Daily(1, 900)};
  EXPECT_EQ(Run(v, {.calibration = 300})->calibration, 300);
  const auto last = Run(v, {.calibration = 200, .last = 50, .history = 400});
  ASSERT_TRUE(last.ok()) << last.status();
  EXPECT_EQ(last->calibration, 200);
  EXPECT_EQ(Run(v, {.calibration = 600, .last = 50, .history = 400})->calibration, 400);
}

TEST_F(DetectTest, StandsWhatSensorsDo) {
  std::vector<double> gaps = Daily(1, 400), steps(400);
  for (size_t t = 50; t < 90; ++t) gaps[t] = kNan;
  for (size_t t = 0; t < gaps.size(); t += 5) gaps[t] = kNan;
  gaps[300] = std::numeric_limits<double>::infinity();
  for (size_t t = 0; t < 400; ++t) steps[t] = t % 40 < 20 ? 0 : 1;
  const std::vector<double> constant(400, 3.25), nothing(400, kNan);
  std::vector<double> large = Daily(2, 400);
  for (double& x : large) x *= 1e300;
  std::vector<double> late = Daily(3, 60);
  for (const Values& v : {Values{gaps}, Values{steps}, Values{constant}, Values{nothing}, Values{large},
                          Values{gaps, steps, constant, nothing, large, late}, Values{Daily(1, 16)},
                          Values{Daily(1, 17), Daily(2, 40)}}) {
    for (const bool causal : {false, true}) {
      const auto d = Run(v, {.causal = causal});
      ASSERT_TRUE(d.ok()) << d.status();
      for (const double s : d->score) EXPECT_FALSE(std::isinf(s));
      for (const Alarm& a : d->alarms) EXPECT_TRUE(a.begin < a.end && std::isfinite(a.peak));
    }
  }
  // A constant that jumps is an alarm.
  std::vector<double> jump = constant;
  for (size_t t = 300; t < 400; ++t) jump[t] = 3.3;
  const auto d = Run({jump}, {.causal = true});
  ASSERT_TRUE(d.ok());
  ASSERT_EQ(d->alarms.size(), 1u);
  EXPECT_EQ(d->alarms[0].begin, 300);
  EXPECT_TRUE(Run({constant})->alarms.empty());
  EXPECT_TRUE(Run({nothing})->alarms.empty());
}

TEST_F(DetectTest, EachScoreByItself) {
  std::vector<double> y = Daily(1, 600);
  for (size_t t = 450; t < 500; ++t) y[t] = 20;
  for (const Score score : DefaultScores(false)) {
    const auto d = Run({y, Daily(2, 600)}, {.scores = {score}});
    ASSERT_TRUE(d.ok()) << d.status();
    EXPECT_EQ(d->scores, std::vector<Score>{score});
    EXPECT_EQ(d->surprise[0].size(), d->score.size());
    const bool forecasts = score == Score::kResidual || score == Score::kMasked;
    EXPECT_EQ(std::isnan(d->expected[0][300]), !forecasts) << ScoreName(score);
  }
}

TEST_F(DetectTest, RefusesWhatMakesNoSense) {
  const Values v{Daily(1, 200)};
  EXPECT_THAT(Refusal({}, {}), HasSubstr("no column"));
  EXPECT_THAT(Refusal({Daily(1, 15)}, {}), HasSubstr("15 rows; detection needs at least 16"));
  EXPECT_THAT(Refusal(Values(129, Daily(1, 20)), {}), HasSubstr("129 columns; detection looks at up to 128"));
  EXPECT_THAT(Refusal({std::vector<double>(kMostRows + 1)}, {}), HasSubstr("1048577 rows and 1 columns"));
  EXPECT_THAT(Refusal(v, {.false_alarms_per_day = 0}), HasSubstr("false alarms per day are 0"));
  EXPECT_THAT(Refusal(v, {.calibration = 10}), HasSubstr("calibration part of 10 rows in a series of 200"));
  EXPECT_THAT(Refusal(v, {.calibration = 190, .last = 20}),
              HasSubstr("of which the last 20 are asked for; it has 16 to 180"));
  EXPECT_THAT(Refusal(v, {.coverage = 1}), HasSubstr("coverage of the band is 1"));
  EXPECT_THAT(Refusal(v, {.window = 101}),
              HasSubstr("window of 101 rows in a series of 200; it has 2 to 100"));
  EXPECT_THAT(Refusal(v, {.window = 60, .last = 20, .history = 100}),
              HasSubstr("window of 60 rows with a calibration part of 100"));
  EXPECT_THAT(Refusal(v, {.window = 30, .causal = true}), HasSubstr("it has 2 to 25"));
  EXPECT_THAT(Refusal(v, {.last = 185}), HasSubstr("at least 16 must lie before them"));
  EXPECT_THAT(Refusal(v, {.step = -1}), HasSubstr("must not be negative"));
  EXPECT_THAT(Refusal(v, {.scores = {Score::kMasked}, .last = 5}), HasSubstr("cannot score a stream"));
  EXPECT_THAT(std::string(Detect(Get(1), {{v[0]}, -1}, {}).status().message()),
              HasSubstr("rows per day are -1"));
}

TEST_F(DetectTest, StopsWhenAsked) {
  Series series;
  const auto y = Daily(1, 400);
  series.columns.emplace_back(y);
  EXPECT_EQ(Detect(Get(1), series, {}, [] { return true; }).status().code(), absl::StatusCode::kCancelled);
}

TEST(ParseScores, ReadsNames) {
  EXPECT_EQ(*ParseScores("pca, residual"), (std::vector<Score>{Score::kPca, Score::kResidual}));
  EXPECT_THAT(std::string(ParseScores("pca,forest").status().message()),
              HasSubstr("there is no score \"forest\"; there are residual, masked, subpca, profile, pca"));
  EXPECT_THAT(std::string(ParseScores("").status().message()), HasSubstr("no score \"\""));
  EXPECT_THAT(std::string(ParseScores("pca,pca").status().message()), HasSubstr("named twice"));
}

}  // namespace
}  // namespace plinth::detect
