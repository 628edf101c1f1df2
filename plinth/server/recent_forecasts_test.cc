#include "plinth/server/recent_forecasts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "plinth/base/text.h"
#include "plinth/formats/json.h"
#include "plinth/server/series_body.h"

namespace plinth::server {
namespace {

using formats::JsonValue;

constexpr int64_t kHour = 3'600'000;
constexpr int64_t kStart = 1'767'225'600'000;  // 2026-01-01T00:00:00Z

class RecentForecastsTest : public testing::Test {
 protected:
  // `count` values from hour `from`, each the number of its hour.
  static engine::SeriesItem Item(const std::string& name, int64_t from, int64_t count, bool stamps = true) {
    const std::string list = [&] {
      std::string text;
      for (int64_t k = 0; k < count; ++k) StrAppend(&text, k == 0 ? "" : ",", from + k);
      return text;
    }();
    const std::string start =
        StrCat("2026-01-0", 1 + from / 24, "T", from % 24 < 10 ? "0" : "", from % 24, ":00:00Z");
    const std::string json = StrCat(R"({"y":[)", list, R"(],"sizes":[)", count, "]",
                                    stamps ? StrCat(R"(,"start":")", start, "\"") : std::string(), "}");
    const auto body = JsonBody::Parse(json);
    EXPECT_TRUE(body.ok()) << body.status();
    auto series = ReadSeries(body->root(), stamps ? "1h" : "", 4, {});
    EXPECT_TRUE(series.ok()) << series.status() << json;
    engine::SeriesItem item = std::move(series->items[0]);
    item.item = name;
    return item;
  }
  // A forecast of 4 steps whose every level lies `level` above 100 times itself.
  void Keep(RecentForecasts& recent, const std::vector<engine::SeriesItem>& items,
            const std::vector<double>& levels = {0.1, 0.5, 0.9}, const std::string& model = "m") {
    std::vector<double> values;
    for (int h = 0; h < 4; ++h) {
      for (const double level : levels) values.push_back(100 * level);
    }
    recent.Keep({model, "proven", items, targets_, levels},
                [&](size_t, size_t) { return std::span<const double>(values); });
  }
  static JsonValue List(const RecentForecasts& recent) {
    std::string text;
    formats::JsonWriter json(&text);
    recent.WriteList(json);
    auto read = formats::ParseJson(text, "list");
    EXPECT_TRUE(read.ok()) << read.status();
    return *std::move(read);
  }
  static JsonValue Series(const RecentForecasts& recent, int64_t id) {
    std::string text;
    formats::JsonWriter json(&text);
    EXPECT_TRUE(recent.WriteSeries(id, json));
    auto read = formats::ParseJson(text, "series");
    EXPECT_TRUE(read.ok()) << read.status();
    return *std::move(read);
  }
  static std::vector<double> Numbers(const JsonValue& list) {
    std::vector<double> out;
    for (const JsonValue& v : *list.array()) {
      out.push_back(v.is_null()              ? -1
                    : v.integer() != nullptr ? static_cast<double>(*v.integer())
                                             : *v.real());
    }
    return out;
  }
  static int64_t Whole(const JsonValue& of, const char* key) { return *of.Find(key)->integer(); }

  const std::vector<std::string> targets_ = {"y"};
  ManualClock clock_{0};
};

TEST_F(RecentForecastsTest, KeepsHistoryBandAndTimes) {
  RecentForecasts recent({.history = 3}, clock_);
  Keep(recent, {Item("a", 0, 10)});
  const JsonValue series = Series(recent, 1);
  EXPECT_THAT(Numbers(*series.Find("history")), testing::ElementsAre(7, 8, 9));
  EXPECT_EQ(Numbers(*series.Find("times"))[2], kStart + 9 * kHour);
  const JsonValue& forecast = (*series.Find("forecasts")->array())[0];
  EXPECT_THAT(Numbers(*forecast.Find("low")), testing::ElementsAre(10, 10, 10, 10));
  EXPECT_THAT(Numbers(*forecast.Find("median")), testing::ElementsAre(50, 50, 50, 50));
  EXPECT_THAT(Numbers(*forecast.Find("high")), testing::ElementsAre(90, 90, 90, 90));
  EXPECT_THAT(Numbers(*forecast.Find("truth")), testing::ElementsAre(-1, -1, -1, -1));
  EXPECT_EQ(Numbers(*forecast.Find("times"))[0], kStart + 10 * kHour);
  EXPECT_EQ(Whole(forecast, "band"), 80);
}

TEST_F(RecentForecastsTest, ShowsTheWidestBandWhereThereIsNoneOf80Percent) {
  RecentForecasts recent({}, clock_);
  Keep(recent, {Item("between", 0, 5)}, {0.05, 0.5, 0.95});
  Keep(recent, {Item("narrow", 0, 5)}, {0.25, 0.5, 0.75});
  Keep(recent, {Item("none", 0, 5)}, {0.5});
  Keep(recent, {Item("one side", 0, 5)}, {0.5, 0.7});
  const JsonValue between = Series(recent, 1), narrow = Series(recent, 2), none = Series(recent, 3);
  const JsonValue& first = (*between.Find("forecasts")->array())[0];
  EXPECT_EQ(Whole(first, "band"), 80);
  EXPECT_NEAR(Numbers(*first.Find("low"))[0], 10, 1e-9);
  EXPECT_EQ(Whole((*narrow.Find("forecasts")->array())[0], "band"), 50);
  EXPECT_EQ(Whole((*none.Find("forecasts")->array())[0], "band"), 0);
  EXPECT_TRUE((*(*none.Find("forecasts")->array())[0].Find("low")->array())[0].is_null());
  EXPECT_EQ(Whole((*Series(recent, 4).Find("forecasts")->array())[0], "band"), 0);
}

TEST_F(RecentForecastsTest, TruthComesWithLaterHistoriesByTimeStamp) {
  RecentForecasts recent({}, clock_);
  Keep(recent, {Item("a", 0, 10)});
  // Two hours later, and its window has moved: indices differ, times do not.
  Keep(recent, {Item("a", 5, 7)});
  const JsonValue series = Series(recent, 1);
  const auto& forecasts = *series.Find("forecasts")->array();
  ASSERT_EQ(forecasts.size(), 2u);
  EXPECT_THAT(Numbers(*forecasts[1].Find("truth")), testing::ElementsAre(10, 11, -1, -1));
  EXPECT_THAT(Numbers(*forecasts[0].Find("truth")), testing::ElementsAre(-1, -1, -1, -1));
  const JsonValue list = List(recent);
  const JsonValue& one = (*list.array())[0];
  EXPECT_EQ(Whole(one, "known"), 2);
  EXPECT_EQ(Whole(one, "inside"), 2) << "10 lies on the edge of the band, which belongs to it";
  EXPECT_EQ(Whole(one, "steps"), 8);
}

TEST_F(RecentForecastsTest, TruthComesFromRequestsThatForecastNothing) {
  RecentForecasts recent({}, clock_);
  Keep(recent, {Item("a", 0, 10)});
  engine::SeriesItem later = Item("a", 0, 13);
  later.values[0][11] = std::numeric_limits<double>::quiet_NaN();
  const std::vector<engine::SeriesItem> items = {later, Item("other", 0, 20)};
  recent.Observe(items, targets_);
  EXPECT_THAT(Numbers(*(*Series(recent, 1).Find("forecasts")->array())[0].Find("truth")),
              testing::ElementsAre(10, -1, 12, -1));
  EXPECT_EQ(List(recent).array()->size(), 1u);
}

TEST_F(RecentForecastsTest, NumberedRowsHaveNoTruth) {
  RecentForecasts recent({}, clock_);
  Keep(recent, {Item("a", 0, 10, false)});
  Keep(recent, {Item("a", 0, 12, false)});
  const JsonValue list = List(recent);
  EXPECT_EQ(Whole((*list.array())[0], "known"), 0);
  EXPECT_TRUE(*Series(recent, 1).Find("numbered")->flag());
  // From here on it has time stamps; what was numbered means nothing to it.
  Keep(recent, {Item("a", 0, 12)});
  EXPECT_EQ(Series(recent, 1).Find("forecasts")->array()->size(), 1u);
}

TEST_F(RecentForecastsTest, ARepeatedRequestPushesNothingOut) {
  RecentForecasts recent({.kept = 2}, clock_);
  Keep(recent, {Item("a", 0, 10)});
  Keep(recent, {Item("a", 0, 11)});
  Keep(recent, {Item("a", 0, 11)});
  EXPECT_EQ(Series(recent, 1).Find("forecasts")->array()->size(), 2u);
  Keep(recent, {Item("a", 0, 12)});
  const JsonValue series = Series(recent, 1);
  ASSERT_EQ(series.Find("forecasts")->array()->size(), 2u);
  EXPECT_EQ(Numbers(*(*series.Find("forecasts")->array())[1].Find("times"))[0], kStart + 11 * kHour);
  Keep(recent, {Item("a", 0, 12)}, {0.1, 0.5, 0.9}, "shadow");
  EXPECT_EQ(*(*Series(recent, 1).Find("forecasts")->array())[1].Find("model")->text(), "m");
}

TEST_F(RecentForecastsTest, IsBounded) {
  RecentForecasts recent({.series = 3, .horizon = 2, .fresh = 2}, clock_);
  Keep(recent, {Item("a", 0, 5), Item("b", 0, 5), Item("c", 0, 5)});
  EXPECT_EQ(List(recent).array()->size(), 2u) << "one request brings at most two new series";
  Keep(recent, {Item("c", 0, 5)});
  Keep(recent, {Item("a", 0, 6)});  // asked for again: b is the oldest now
  Keep(recent, {Item("d", 0, 5)});
  std::vector<std::string> names;
  const JsonValue list = List(recent);
  for (const JsonValue& one : *list.array()) names.push_back(*one.Find("item")->text());
  EXPECT_THAT(names, testing::ElementsAre("d", "a", "c"));
  std::string text;
  formats::JsonWriter json(&text);
  EXPECT_FALSE(recent.WriteSeries(2, json));
  EXPECT_EQ((*Series(recent, 1).Find("forecasts")->array())[0].Find("times")->array()->size(), 2u);
  // A name that nobody could read is not kept.
  Keep(recent, {Item(std::string(1000, 'x'), 0, 5)});
  EXPECT_EQ(List(recent).array()->size(), 3u);
}

TEST_F(RecentForecastsTest, NamesThatRunTogetherStayApart) {
  RecentForecasts recent({}, clock_);
  const std::vector<std::string> one = {"bc"}, other = {"c"};
  const std::vector<double> levels = {0.5}, values = {1, 1};
  const auto keep = [&](const std::string& item, const std::vector<std::string>& targets) {
    const std::vector<engine::SeriesItem> items = {Item(item, 0, 5)};
    recent.Keep({"m", "proven", items, targets, levels},
                [&](size_t, size_t) { return std::span<const double>(values); });
  };
  keep("a", one);
  keep("ab", other);
  EXPECT_EQ(List(recent).array()->size(), 2u);
}

}  // namespace
}  // namespace plinth::server
