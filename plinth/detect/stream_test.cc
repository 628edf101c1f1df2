#include "plinth/detect/stream.h"

#include <cmath>
#include <cstdlib>
#include <limits>

#include "gtest/gtest.h"
#include "plinth/base/random.h"

namespace plinth::detect {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
using Values = std::vector<std::vector<double>>;

std::string Source(const std::string& path) {
  const char* root = std::getenv("PLINTH_SOURCE_DIR");
  return (root == nullptr ? std::string(".") : std::string(root)) + "/" + path;
}

// Daily cycles with noise, a spike, gaps of several lengths and a level that moves, all behind row 300.
Values Plant(int rows) {
  Values values;
  for (uint64_t c = 0; c < 3; ++c) {
    Random random(c + 1);
    std::vector<double>& y = values.emplace_back();
    for (int t = 0; t < rows; ++t)
      y.push_back(20 + 5 * std::sin(2 * M_PI * (t + static_cast<int>(5 * c)) / 24) + 0.4 * random.Normal());
  }
  values[0][350] += 30;
  for (size_t t = 380; t < 384; ++t) values[0][t] = kNan;
  for (size_t t = 400; t < 490; ++t) values[1][t] = kNan;
  for (size_t t = 430; t < values[2].size(); ++t) values[2][t] += 9;
  return values;
}

class StreamTest : public ::testing::Test {
 protected:
  StreamTest() : threads_(2) {
    context_.threads = &threads_;
    auto session = engine::Session::Load(Source("models/plinth-ts-0"), context_);
    EXPECT_TRUE(session.ok()) << session.status();
    session_ = *std::move(session);
    forecaster_ = std::make_unique<engine::SessionForecaster>(*session_);
  }
  std::shared_ptr<const Fitted> Fit(const Values& values, size_t rows, const Options& options) {
    Series normal;
    normal.rows_per_day = 24;
    for (const auto& column : values) normal.columns.push_back(std::span(column).first(rows));
    auto fitted = Fitted::Make(*forecaster_, normal, 0, options, {});
    EXPECT_TRUE(fitted.ok()) << fitted.status();
    return *std::move(fitted);
  }
  Scored Score(const Fitted& fitted, const Values& values, size_t base, size_t from, size_t end) {
    std::vector<std::span<const double>> tail;
    for (const auto& column : values) tail.push_back(std::span(column).subspan(base, end - base));
    auto scored =
        fitted.Score(*forecaster_, tail, static_cast<int64_t>(base), static_cast<int64_t>(from - base), {});
    EXPECT_TRUE(scored.ok()) << scored.status();
    return *std::move(scored);
  }
  Threads threads_;
  Context context_;
  std::unique_ptr<engine::Session> session_;
  std::unique_ptr<engine::SessionForecaster> forecaster_;
};

bool Same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

TEST_F(StreamTest, ARowHasTheSameBitsHoweverRowsArrive) {
  const Values values = Plant(520);
  Options options;
  options.context = 100;  // so that the look-back ends within the series
  const auto fitted = Fit(values, 300, options);
  const size_t back = static_cast<size_t>(fitted->lookback());
  ASSERT_LT(back, 250u);
  const Scored whole = Score(*fitted, values, 0, 300, 520);
  for (size_t from = 300, more = 1; from < 520; from += more, more = more % 7 + 1) {
    const size_t end = std::min<size_t>(from + more, 520), base = from > back ? from - back : 0;
    const Scored part = Score(*fitted, values, base, from, end);
    for (size_t t = from; t < end; ++t) {
      ASSERT_TRUE(Same(part.findings.fused[t - base], whole.findings.fused[t])) << t;
      for (size_t s = 0; s < whole.findings.scores.size(); ++s) {
        ASSERT_TRUE(Same(part.findings.scores[s].surprise[t - base], whole.findings.scores[s].surprise[t]))
            << t << " " << ScoreName(whole.findings.scores[s].score);
        for (size_t c = 0; c < 3; ++c)
          ASSERT_EQ(part.findings.scores[s].parts[c][t - base], whole.findings.scores[s].parts[c][t]) << t;
      }
      for (size_t c = 0; c < 3; ++c) {
        ASSERT_TRUE(Same(part.expectation[c].middle[t - base], whole.expectation[c].middle[t])) << t;
        ASSERT_TRUE(Same(part.expectation[c].upper[t - base], whole.expectation[c].upper[t])) << t;
      }
    }
    if (from > base) {
      EXPECT_TRUE(std::isnan(part.findings.fused[0]));
    }
  }
}

TEST_F(StreamTest, DetectScoresByTheSameTwoSteps) {
  const Values values = Plant(520);
  Series series;
  series.rows_per_day = 24;
  for (const auto& column : values) series.columns.emplace_back(column);
  Options options;
  options.causal = true, options.calibration = 300, options.step = 4;
  const auto detection = Detect(*forecaster_, series, options);
  ASSERT_TRUE(detection.ok());
  const auto fitted = Fit(values, 300, options);
  EXPECT_EQ(detection->threshold, fitted->threshold());
  const Scored scored = Score(*fitted, values, 0, 300, 520);
  for (size_t t = 300; t < 520; ++t) ASSERT_TRUE(Same(detection->score[t], scored.findings.fused[t])) << t;
  std::vector<std::span<const double>> all(values.begin(), values.end());
  const auto alarms = fitted->Alarms(all, scored.findings, 300);
  ASSERT_FALSE(alarms.empty());
  size_t next = 0;
  for (const Alarm& alarm : detection->alarms) {
    if (alarm.begin < 300) continue;
    ASSERT_LT(next, alarms.size());
    EXPECT_EQ(alarm.begin, alarms[next].begin);
    EXPECT_EQ(alarm.end, alarms[next].end);
    EXPECT_EQ(alarm.reason, alarms[next].reason);
    ++next;
  }
  EXPECT_EQ(next, alarms.size());
}

TEST(ProfileReference, EqualsTheDistanceToTheNearestNormalWindow) {
  Random random(9);
  std::vector<double> y;
  for (int t = 0; t < 300; ++t) y.push_back(random.Normal());
  const auto normal_values = std::span<const double>(y).first(120);
  const ColumnScale scale = LearnScale(normal_values);
  const Column normal = MakeStreamColumn(normal_values, scale), all = MakeStreamColumn(y, scale);
  for (const int64_t m : {2, 8, 33}) {
    const auto scores = ProfileReference(normal, m, 1000).Scores(all, 0, 0);
    for (int64_t i = 0; i + m <= 300; ++i) {
      std::vector<double> window(all.calm.begin() + i, all.calm.begin() + i + m);
      for (int64_t k = m - 2; k < m; ++k) window[static_cast<size_t>(k)] = all.z[static_cast<size_t>(i + k)];
      double best = std::numeric_limits<double>::infinity(), mean = 0;
      for (const double v : window) mean += v / static_cast<double>(m);
      for (int64_t j = 0; j + m <= 120; ++j) {
        if (std::abs(i - j) < (m + 1) / 2) continue;
        double other = 0, d = 0;
        for (int64_t k = 0; k < m; ++k)
          other += normal.calm[static_cast<size_t>(j + k)] / static_cast<double>(m);
        for (int64_t k = 0; k < m; ++k)
          d += std::pow(
              window[static_cast<size_t>(k)] - mean - normal.calm[static_cast<size_t>(j + k)] + other, 2);
        best = std::min(best, std::sqrt(d / static_cast<double>(m)));
      }
      EXPECT_NEAR(scores[static_cast<size_t>(i + m - 1)], best, 1e-7) << m << " " << i;
    }
  }
}

TEST(StreamColumn, HoldsGapsAndForgetsThem) {
  std::vector<double> y(200, 1);
  for (size_t t = 0; t < 50; ++t) y[t] = t % 2 == 0 ? 0 : 2;
  for (size_t t = 60; t < 150; ++t) y[t] = kNan;
  const Column c = MakeStreamColumn(y, {{0, 1}, 1});
  EXPECT_EQ(c.z[60], 1);
  EXPECT_EQ(c.z[60 + kMostHold - 1], 1);
  EXPECT_EQ(c.z[60 + kMostHold], 0);
  EXPECT_EQ(c.z[150], 1);
}

TEST(StreamColumn, ASpikeIsToldByTheRowsBehindIt) {
  std::vector<double> y(40, 0);
  y[20] = 50;
  const std::span<const double> all(y);
  EXPECT_EQ(MakeStreamColumn(all, {{0, 1}, 1}).calm[20], 0);
  EXPECT_EQ(MakeStreamColumn(all.first(22), {{0, 1}, 1}).calm[20], 50);
}

}  // namespace
}  // namespace plinth::detect
