#include "plinth/server/input_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "plinth/base/random.h"
#include "plinth/base/text.h"
#include "plinth/engine/series_file.h"

namespace plinth::server {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr int64_t kHour = 3'600'000'000;
constexpr int64_t kSecond = 1'000'000'000;

double CpuSeconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

class InputWatchTest : public testing::Test {
 protected:
  // Hourly, with a daily course and noise.
  std::vector<double> Day(int64_t rows, uint64_t seed = 1) {
    Random random(seed);
    std::vector<double> values;
    for (int64_t k = 0; k < rows; ++k)
      values.push_back(20 + 8 * std::sin(static_cast<double>(k) / 12 * M_PI) + random.Normal());
    return values;
  }
  static engine::SeriesItem Item(std::vector<double> values, int64_t first_hour = 0,
                                 const std::string& name = "pump") {
    engine::SeriesItem item;
    item.item = name;
    item.values = {std::move(values)};
    item.origin.micros = first_hour * kHour;
    item.frequency = {series::Frequency::Kind::kMicros, kHour};
    return item;
  }
  InputWatch::Result Look(const engine::SeriesItem& item, const std::string& source = "key") {
    return watch_.Look({"m", source, {&item, 1}, targets_});
  }
  std::vector<std::string> Kinds(const engine::SeriesItem& item) {
    std::vector<std::string> kinds;
    for (const InputFinding& f : Look(item).findings) kinds.emplace_back(InputKindName(f.kind));
    return kinds;
  }
  // What a client sends that keeps the newest 200 rows: hour by hour, from row 200 on.
  std::vector<std::string> Slide(const std::vector<double>& values) {
    std::vector<std::string> kinds;
    for (size_t end = 200; end <= values.size(); ++end) {
      const auto begin = values.begin() + static_cast<int64_t>(end) - 200;
      for (const std::string& kind : Kinds(Item({begin, begin + 200}, static_cast<int64_t>(end) - 200)))
        if (kinds.empty() || kinds.back() != kind) kinds.push_back(kind);
    }
    return kinds;
  }

  ManualClock clock_{0};
  InputWatch watch_{{}, clock_};
  const std::vector<std::string> targets_ = {"y"};
};

TEST_F(InputWatchTest, IsSilentOnOrdinaryRows) {
  EXPECT_THAT(Slide(Day(1000)), IsEmpty());
  const InputWatch::Counts counts = watch_.counts();
  EXPECT_EQ(counts.series, 1);
  EXPECT_EQ(counts.windows, 801);
}

TEST_F(InputWatchTest, SeesValuesFarOutOfTheRange) {
  std::vector<double> values = Day(200);
  EXPECT_THAT(Kinds(Item(values)), IsEmpty());
  values.push_back(90);
  const auto found = Look(Item(values)).findings;
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, InputKind::kRange);
  EXPECT_THAT(found[0].message, HasSubstr("90 at 1970-01-09"));
  EXPECT_THAT(found[0].message, HasSubstr("lies far outside of the range seen, "));
  EXPECT_THAT(Kinds(Item(values)), IsEmpty()) << "the same rows again are no news";
  // Without a name the request is all there is to compare with.
  values.back() = -60;
  EXPECT_THAT(Kinds(Item(values, 0, "")), ElementsAre("range"));
  EXPECT_EQ(watch_.counts().series, 1);
}

TEST_F(InputWatchTest, SeesAFlatLineAndItsEnd) {
  std::vector<double> values = Day(200);
  for (int i = 0; i < 15; ++i) values.push_back(21.5);
  EXPECT_THAT(Kinds(Item(values)), IsEmpty());
  values.push_back(NAN);  // a gap is no change
  values.push_back(21.5);
  const auto found = Look(Item(values)).findings;
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].message.substr(0, 32), "21.5 without change for 16 rows ") << found[0].message;
  values.push_back(22);
  const InputWatch::Result after = Look(Item(values));
  EXPECT_THAT(after.findings, IsEmpty());
  ASSERT_EQ(after.over.size(), 1u);
  EXPECT_EQ(after.over[0].kind, InputKind::kFlat);
  // A series that has always stood still for so long may do so again.
  for (int i = 0; i < 30; ++i) values.push_back(23);
  EXPECT_THAT(Kinds(Item(values)), IsEmpty());
}

TEST_F(InputWatchTest, SeesAReplayedWindow) {
  std::vector<double> values = Day(400);
  for (size_t k = 0; k < 60; ++k) values.push_back(values[280 + k]);
  EXPECT_THAT(Slide(values), ElementsAre("replay"));
  EXPECT_EQ(Look(Item({values.begin() + 260, values.end()}, 260)).findings.size(), 0u) << "nothing is new";
}

TEST_F(InputWatchTest, SaysHowLongAgoItWas) {
  std::vector<double> values = Day(200);
  Look(Item(values));
  for (size_t k = 0; k < 60; ++k) values.push_back(values[100 + k]);
  const auto found = Look(Item(values)).findings;
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].message, "the newest rows are exactly those of 100 rows before");
}

TEST_F(InputWatchTest, ASeriesThatRepeatsByNatureIsNoReplay) {
  std::vector<double> values;
  for (int k = 0; k < 600; ++k) values.push_back(std::round(1000 * std::sin(k % 24 / 12.0 * M_PI)));
  EXPECT_THAT(Slide(values), IsEmpty());
  // The same rows sent again, and the same values from another source, are none either.
  const std::vector<double> day = Day(300, 5);
  EXPECT_THAT(Kinds(Item(day, 0, "b")), IsEmpty());
  EXPECT_THAT(Kinds(Item(day, 0, "b")), IsEmpty());
  const engine::SeriesItem later = Item(day, 1000, "b");
  EXPECT_THAT(Look(later, "another key").findings, IsEmpty());
}

TEST_F(InputWatchTest, SeesGaps) {
  std::vector<double> values = Day(256);
  for (size_t k = 100; k < 170; ++k) values[k] = NAN;
  EXPECT_THAT(Kinds(Item(values)), IsEmpty());
  for (size_t k = 170; k < 180; ++k) values[k] = NAN;
  const auto found = Look(Item(values)).findings;
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].message, "80 of the newest 256 rows are gaps");
}

TEST_F(InputWatchTest, SeesValuesThatAreCutOff) {
  std::vector<double> values = Day(256);
  for (size_t k = 192; k < 256; ++k) values[k] = std::min(values[k], 26.0);
  const auto found = Look(Item(values)).findings;
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].message, "the newest rows stand at 26 again and again, as if values above were cut off");
  // A series that has stood at its end before is made so.
  for (size_t k = 0; k < 192; ++k) values[k] = std::min(values[k], 26.0);
  EXPECT_THAT(Kinds(Item(values, 0, "b")), IsEmpty());
}

TEST_F(InputWatchTest, SeesAShapeThatTheModelHasNotMet) {
  for (uint64_t seed = 0; seed < ShapeReference::kLearned; ++seed)
    EXPECT_THAT(Kinds(Item(Day(256, seed), 0, StrCat("pump ", seed))), IsEmpty());
  EXPECT_THAT(Kinds(Item(Day(256, 999), 0, "another")), IsEmpty());
  Random random(3);
  std::vector<double> spikes;
  for (int k = 0; k < 256; ++k) spikes.push_back(k % 64 == 63 ? 1000 : random.Normal());
  const auto found = Look(Item(spikes, 0, "spikes")).findings;
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, InputKind::kShape);
  EXPECT_THAT(found[0].message, HasSubstr("is unlike the first that m was asked about"));
  // Neither unit nor level is shape.
  std::vector<double> scaled = Day(256, 77);
  for (double& v : scaled) v = 1e6 * v - 1e9;
  EXPECT_THAT(Kinds(Item(scaled, 0, "scaled")), IsEmpty());
}

TEST(WindowShape, IsFreeOfUnitAndLevel) {
  Random random(7);
  std::vector<double> a, b;
  for (int k = 0; k < 200; ++k) {
    a.push_back(k % 17 == 3 ? NAN : random.Normal());
    b.push_back(-40 + 1e-3 * a.back());
  }
  const auto x = ShapeOf(a), y = ShapeOf(b);
  ASSERT_TRUE(x.has_value() && y.has_value());
  for (size_t i = 0; i < kShapeFeatures; ++i) EXPECT_NEAR((*x)[i], (*y)[i], 1e-6) << i;
  EXPECT_FALSE(ShapeOf(std::vector<double>(200, 3.0)).has_value());
  EXPECT_FALSE(ShapeOf(std::span(a).first(20)).has_value());
  a.assign(200, 0);
  a[100] = 1e300;
  EXPECT_FALSE(ShapeOf(a).has_value()) << "its fourth power is no number";
}

// Whitened by the factor, a known covariance gives the textbook distance.
TEST(WindowShape, DistanceIsThatOfMahalanobis) {
  ShapeReference reference;
  std::vector<Shape> windows;
  Random random(1);
  for (size_t n = 0; n < ShapeReference::kLearned; ++n) {
    Shape w;
    for (double& v : w) v = random.Normal();
    w[1] += 2 * w[0];
    reference.Learn(w);
    windows.push_back(w);
  }
  ASSERT_TRUE(reference.ready());
  // Solved here by Gauss elimination on the covariance, in place of the factor.
  constexpr size_t n = kShapeFeatures;
  Shape mean{}, d{};
  double c[n][n + 1] = {};
  for (const Shape& w : windows)
    for (size_t i = 0; i < n; ++i) mean[i] += w[i] / 128;
  for (const Shape& w : windows)
    for (size_t i = 0; i < n; ++i)
      for (size_t j = 0; j < n; ++j) c[i][j] += (w[i] - mean[i]) * (w[j] - mean[j]) / 160;
  const Shape far = {3, -3, 1, 2, 0, -1};
  for (size_t i = 0; i < n; ++i) c[i][i] += 0.25 * 32 / 160, d[i] = c[i][n] = far[i] - mean[i];
  for (size_t i = 0; i < n; ++i)
    for (size_t j = 0; j < n; ++j) {
      const double f = i == j ? 0 : c[j][i] / c[i][i];
      for (size_t k = 0; k <= n; ++k) c[j][k] -= f * c[i][k];
    }
  double wanted = 0;
  for (size_t i = 0; i < n; ++i) wanted += d[i] * c[i][n] / c[i][i];
  EXPECT_NEAR(reference.Distance(far), wanted, 1e-9 * wanted);
  EXPECT_EQ(reference.limit(), 36);
}

TEST_F(InputWatchTest, ForgetsWhatIsIdleOrTooMuch) {
  InputWatch watch({.series = 3, .idle_nanoseconds = 10 * kSecond}, clock_);
  const auto look = [&](const std::string& name) {
    const engine::SeriesItem item = Item(Day(50), 0, name);
    watch.Look({"m", "", {&item, 1}, targets_});
    return watch.counts().series;
  };
  EXPECT_EQ(look("a"), 1);
  EXPECT_EQ(look("b"), 2);
  EXPECT_EQ(look("c"), 3);
  EXPECT_EQ(look("d"), 3);
  clock_.Advance(11 * kSecond);
  EXPECT_EQ(look("d"), 1);
}

TEST_F(InputWatchTest, CanBeTurnedOff) {
  InputWatch watch({.enabled = false}, clock_);
  std::vector<double> values = Day(100);
  values.back() = 1e9;
  const engine::SeriesItem item = Item(values);
  EXPECT_THAT(watch.Look({"m", "", {&item, 1}, targets_}).findings, IsEmpty());
  EXPECT_EQ(watch.counts().windows, 0);
}

TEST_F(InputWatchTest, TakesAnything) {
  const double big = std::numeric_limits<double>::max();
  for (const std::vector<double>& values :
       {std::vector<double>{}, {1}, {NAN}, std::vector<double>(600, NAN), std::vector<double>(600, big)}) {
    EXPECT_THAT(Kinds(Item(values)), testing::AnyOf(IsEmpty(), ElementsAre("gaps")));
  }
  std::vector<double> wild(600);
  for (size_t k = 0; k < wild.size(); ++k) wild[k] = k % 3 == 0 ? big : k % 3 == 1 ? -big : NAN;
  Look(Item(wild, 0, "wild"));
}

// What stands in docs/serving.md as the rate of false alarms: every example series, row by row, as a client
// would send it that keeps 512 rows; and the time it takes.
TEST_F(InputWatchTest, IsSilentOnTheExamples) {
  const char* source = std::getenv("PLINTH_SOURCE_DIR");
  int64_t windows = 0, found = 0;
  double seconds = 0;
  for (const char* name : {"air_passengers", "bikes", "demand", "wine_sales", "wool_yarn"}) {
    const std::string path = StrCat(source == nullptr ? "." : source, "/examples/series/", name, ".csv");
    auto file = engine::SeriesFile::Open(path, {});
    ASSERT_TRUE(file.ok()) << file.status();
    engine::SeriesItem whole;
    ASSERT_TRUE(*file->Next(&whole));
    for (int64_t end = 32; end <= whole.length(); ++end) {
      engine::SeriesItem item = whole;
      item.covariates.clear();
      item.item = name;
      // The beginning stays: a start at another row needs another origin, which months make awkward.
      for (auto& column : item.values) column.resize(static_cast<size_t>(end));
      const double began = CpuSeconds();
      const auto result = watch_.Look({name, "", {&item, 1}, file->targets()});
      seconds += CpuSeconds() - began;
      windows += static_cast<int64_t>(item.values.size());
      found += static_cast<int64_t>(result.findings.size());
      for (const InputFinding& f : result.findings)
        std::printf("%s %s row %d: %s\n", name, file->targets()[f.target].c_str(), static_cast<int>(end),
                    f.message.c_str());
    }
  }
  std::printf("%d findings in %d windows, %.1f us each\n", static_cast<int>(found), static_cast<int>(windows),
              seconds / static_cast<double>(windows) * 1e6);
  EXPECT_LE(found, windows / 1000);
}

}  // namespace
}  // namespace plinth::server
