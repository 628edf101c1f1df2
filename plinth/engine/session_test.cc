#include "plinth/engine/session.h"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <random>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "plinth/base/allocations.h"
#include "plinth/series/quantiles.h"

namespace plinth::engine {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

std::string Source(const std::string& path) {
  const char* root = std::getenv("PLINTH_SOURCE_DIR");
  return (root == nullptr ? std::string(".") : std::string(root)) + "/" + path;
}

using Series = std::vector<std::vector<double>>;

std::vector<double> Seasonal(int64_t length, int64_t period, double level, double amplitude, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> noise;
  std::vector<double> y;
  for (int64_t t = 0; t < length; ++t) {
    y.push_back(level +
                amplitude * (std::sin(2 * M_PI * static_cast<double>(t) / static_cast<double>(period)) +
                             0.1 * noise(random)));
  }
  return y;
}

// Lengths 1 to beyond the context, gaps, constants, nothing at all.
Series Awkward() {
  Series s;
  for (int64_t length : {1, 2, 15, 16, 17, 63, 200, 511, 512, 513, 1000}) {
    s.push_back(Seasonal(length, 24, 10, 3, static_cast<unsigned>(length)));
  }
  s.push_back(std::vector<double>(80, 7.5));
  s.push_back(std::vector<double>(40, kNan));
  s.push_back({});
  auto gaps = Seasonal(300, 12, -5, 1, 99);
  for (size_t i = 0; i < gaps.size(); i += 3) gaps[i] = kNan;
  for (size_t i = 100; i < 160; ++i) gaps[i] = kNan;
  gaps[299] = std::numeric_limits<double>::infinity();
  s.push_back(gaps);
  return s;
}

class SessionTest : public ::testing::Test {
 protected:
  static Isa TestIsa() { return IsaFromEnvironment().value_or(Isa::kV2); }
  // One session per number of threads.
  Session& Get(int threads) {
    auto& made = sessions_[threads];
    if (made == nullptr) {
      pools_.push_back(std::make_unique<Threads>(threads));
      contexts_.push_back(std::make_unique<Context>(Context{pools_.back().get(), TestIsa()}));
      auto session = Session::Load(Source("models/plinth-ts-0"), *contexts_.back());
      EXPECT_TRUE(session.ok()) << session.status();
      made = *std::move(session);
    }
    return *made;
  }
  std::vector<Forecast> Run(Session& session, const Series& series, int64_t horizon = 96,
                            int64_t context = 0) {
    const std::vector<std::span<const double>> views(series.begin(), series.end());
    auto forecasts = session.Run(views, {horizon, context, series::Deciles()});
    EXPECT_TRUE(forecasts.ok()) << forecasts.status();
    return *std::move(forecasts);
  }
  std::vector<std::unique_ptr<Threads>> pools_;
  std::vector<std::unique_ptr<Context>> contexts_;
  std::map<int, std::unique_ptr<Session>> sessions_;
};

TEST_F(SessionTest, SameBitsAloneInAnyBatchInAnyOrderOnAnyThreads) {
  const Series series = Awkward();
  const auto all = SessionTest::Run(Get(1), series, 130);
  for (int threads : {2, 3}) {
    const auto again = SessionTest::Run(Get(threads), series, 130);
    for (size_t i = 0; i < series.size(); ++i)
      EXPECT_EQ(again[i].values, all[i].values) << threads << " " << i;
  }
  for (size_t i = 0; i < series.size(); ++i) {
    for (int threads : {1, 3}) {
      EXPECT_EQ(SessionTest::Run(Get(threads), {series[i]}, 130)[0].values, all[i].values) << i;
    }
  }
  std::vector<size_t> order(series.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = (i * 7 + 3) % order.size();
  Series shuffled;
  for (size_t i : order) shuffled.push_back(series[i]);
  const auto mixed = SessionTest::Run(Get(2), shuffled, 130);
  for (size_t i = 0; i < order.size(); ++i) EXPECT_EQ(mixed[i].values, all[order[i]].values);
}

TEST_F(SessionTest, PaddingChangesNothing) {
  // Gaps before the first value are what a short series is padded with.
  auto y = Seasonal(100, 24, 5, 1, 1);
  auto padded = std::vector<double>(70, kNan);
  padded.insert(padded.end(), y.begin(), y.end());
  EXPECT_EQ(SessionTest::Run(Get(1), {y})[0].values, SessionTest::Run(Get(1), {padded})[0].values);
}

TEST_F(SessionTest, QuantilesNeverCrossAndAreFinite) {
  for (const Forecast& f : SessionTest::Run(Get(2), Awkward(), 200)) {
    for (size_t h = 0; h < 200; ++h) {
      for (size_t k = 0; k < 9; ++k) {
        ASSERT_TRUE(std::isfinite(f.values[h * 9 + k]));
        ASSERT_LE(f.values[h * 9 + (k > 0 ? k - 1 : 0)], f.values[h * 9 + k]);
      }
    }
  }
}

TEST_F(SessionTest, AHighLevelKeepsItsDigits) {
  // The same shape at level 0 and 1 and at level 1e6 and 1e-3 gives the same forecast in its own units.
  std::vector<double> low, high;
  for (int t = 0; t < 400; ++t) {
    const double z = std::round(std::sin(2 * M_PI * t / 24) * 1024) / 1024;
    low.push_back(z);
    high.push_back(1e6 + z / 1024);  // exact in double
  }
  const auto a = SessionTest::Run(Get(1), {low})[0].values, b = SessionTest::Run(Get(1), {high})[0].values;
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_NEAR((b[i] - 1e6) * 1024, a[i], 2e-4) << i;
  }
}

TEST_F(SessionTest, ContextLimitsWhatIsSeen) {
  const auto y = Seasonal(400, 24, 5, 1, 1);
  const std::vector<double> tail(y.end() - 100, y.end());
  EXPECT_EQ(SessionTest::Run(Get(1), {y}, 96, 100)[0].values, SessionTest::Run(Get(1), {tail})[0].values);
}

TEST_F(SessionTest, AnyQuantileListFloatOrDouble) {
  const auto y = Seasonal(400, 24, 5, 1, 1);
  const std::vector<std::span<const double>> views = {y};
  const auto narrow = Get(1).Run(views, {24, 0, {0.1, 0.25, 0.5}});
  const auto single = Get(1).Run(views, {24, 0, {static_cast<double>(0.1f), 0.25, 0.5}});
  const auto all = SessionTest::Run(Get(1), {y}, 24);
  ASSERT_TRUE(narrow.ok() && single.ok());
  EXPECT_EQ((*narrow)[0].values, (*single)[0].values);
  for (size_t h = 0; h < 24; ++h) {
    EXPECT_EQ((*narrow)[0].values[h * 3], all[0].values[h * 9]);
    EXPECT_EQ((*narrow)[0].values[h * 3 + 2], all[0].values[h * 9 + 4]);
    const double between = (all[0].values[h * 9 + 1] + all[0].values[h * 9 + 2]) / 2;
    EXPECT_NEAR((*narrow)[0].values[h * 3 + 1], between, 1e-12 * std::abs(between));
  }
}

TEST_F(SessionTest, RefusesWhatMakesNoSense) {
  const std::vector<double> y(10, 1.0);
  const std::vector<std::span<const double>> views = {y};
  EXPECT_EQ(Get(1).Run(views, {0, 0, {0.5}}).status().message(),
            "the horizon is 0; it must be from 1 to 1048576");
  EXPECT_EQ(Get(1).Run(views, {1, 513, {0.5}}).status().message(),
            "the context is 513; plinth_ts takes up to 512 steps");
  EXPECT_FALSE(Get(1).Run(views, {1, 0, {}}).ok());
  EXPECT_FALSE(Get(1).Run(views, {1, 0, {1.5}}).ok());
  EXPECT_EQ(Get(1).Run(views, {1, 0, {0.5}}, [] { return true; }).status().code(),
            absl::StatusCode::kCancelled);
  EXPECT_TRUE(Get(1).Run(std::span<const Group>(), {1, 0, {0.5}})->empty());
}

TEST_F(SessionTest, ThePublishedNetworkGivesTheSameNumbersWithMoreWork) {
  const auto y = Seasonal(200, 24, 5, 1, 1);
  const std::vector<std::span<const double>> views = {y};
  for (const char* model : {"tests/golden/chronos_bolt_rand", "tests/golden/chronos2_rand"}) {
    const Context& context = Get(1).context();
    const auto lean = Session::Load(Source(model), context);
    const auto published = Session::Load(Source(model), context, {.published = true});
    ASSERT_TRUE(lean.ok() && published.ok());
    EXPECT_GT((*published)->plan().step_count(), (*lean)->plan().step_count()) << model;
    const ForecastRequest request{24, 0, series::Deciles()};
    const auto a = (*lean)->Run(views, request), b = (*published)->Run(views, request);
    ASSERT_TRUE(a.ok() && b.ok());
    double largest = 0;
    for (const double x : (*b)[0].values) largest = std::max(largest, std::abs(x));
    for (size_t i = 0; i < (*b)[0].values.size(); ++i) {
      // Sums of a few hundred f32 products in another order.
      EXPECT_NEAR((*a)[0].values[i], (*b)[0].values[i], 256 * 0x1p-24 * largest) << model << " " << i;
    }
  }
}

TEST_F(SessionTest, RefusesForecastsThatNoMemoryHolds) {
  // 75 MB each: 7.5 TB.
  const std::vector<double> y(10, 1.0);
  const std::vector<std::span<const double>> views(100000, y);
  const auto refused = Get(1).Run(views, {1 << 20, 0, series::Deciles()});
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(refused.status().message()),
              testing::AllOf(
                  testing::StartsWith("forecasts of 100000 series over 1048576 steps take about "),
                  testing::EndsWith(" GB are free; a shorter horizon or fewer series at once are needed")));
}

TEST_F(SessionTest, MemoryOfTheLoopIsFixed) {
  const Series series(40, Seasonal(512, 24, 5, 1, 1));
  Session& session = Get(1);
  SessionTest::Run(session, series);
  const std::vector<std::span<const double>> views(series.begin(), series.end());
  int64_t counts[2];
  for (int64_t& count : counts) {
    // Results are allocated once per call, runs of the plan allocate nothing: five times the runs, the same
    // number of allocations per series.
    const size_t used = &count == counts ? 8 : 40;
    const AllocationCounter counter;
    ASSERT_TRUE(session.Run({views.data(), used}, {96, 0, series::Deciles()}).ok());
    count = counter.count() - 2 * static_cast<int64_t>(used);  // the group and the result of each series
  }
  EXPECT_LE(counts[1] - counts[0], 8);  // growth of the vectors of windows
}

}  // namespace
}  // namespace plinth::engine
