#include "plinth/server/series_body.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "plinth/base/text.h"

namespace plinth::server {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsNan;

class SeriesBodyTest : public testing::Test {
 protected:
  StatusOr<SeriesBody> Read(const std::string& json, const std::string& frequency = "", int64_t horizon = 2) {
    auto body = JsonBody::Parse(json);
    EXPECT_TRUE(body.ok()) << body.status();
    const JsonField root = body->root();
    return ReadSeries(root, frequency, horizon, limits_);
  }
  std::string Error(const std::string& json, const std::string& frequency = "") {
    const auto read = Read(json, frequency);
    EXPECT_FALSE(read.ok()) << json;
    field_ = FieldOf(read.status());
    return std::string(read.status().message());
  }
  SeriesLimits limits_;
  std::string field_;
};

TEST_F(SeriesBodyTest, CutsValuesIntoItems) {
  const auto read = Read(R"({"y":[1,null,3,4,5.5],"sizes":[3,2],"items":["a",7]})");
  ASSERT_TRUE(read.ok()) << read.status();
  ASSERT_EQ(read->items.size(), 2u);
  EXPECT_THAT(read->items[0].values[0], ElementsAre(1, IsNan(), 3));
  EXPECT_THAT(read->items[1].values[0], ElementsAre(4, 5.5));
  EXPECT_EQ(read->items[1].item, "7");
  EXPECT_TRUE(read->items[0].numbered);
  EXPECT_THAT(read->targets, ElementsAre("y"));
}

TEST_F(SeriesBodyTest, PutsRowsOnTheirGrid) {
  const auto read = Read(R"({"targets":{"u":[1,2,3],"v":[4,5,6]},
                             "times":["2026-01-01T00:00Z","2026-01-01T01:00Z","2026-01-01T03:00Z"],
                             "past":{"w":[7,8,9]},"future":{"x":[1,2,3,10,11]}})",
                         "1h");
  ASSERT_TRUE(read.ok()) << read.status();
  const engine::SeriesItem& item = read->items[0];
  EXPECT_THAT(item.values[0], ElementsAre(1, 2, IsNan(), 3));
  EXPECT_THAT(item.values[1], ElementsAre(4, 5, IsNan(), 6));
  EXPECT_THAT(item.covariates[0].numbers, ElementsAre(7, 8, IsNan(), 9));
  EXPECT_THAT(item.covariates[1].numbers, ElementsAre(1, 2, IsNan(), 3, 10, 11));
  EXPECT_EQ(item.TimeText(4), "2026-01-01T04:00Z");
  EXPECT_FALSE(read->covariates[0].ahead);
  EXPECT_TRUE(read->covariates[1].ahead);
}

TEST_F(SeriesBodyTest, StartsNeedAFrequency) {
  const auto read = Read(R"({"y":[1,2,3],"sizes":[2,1],"start":["2026-01-31","2026-03-31"]})", "ME");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->items[0].TimeText(1), "2026-02-28");
  EXPECT_EQ(read->items[1].TimeText(0), "2026-03-31");
  EXPECT_THAT(Error(R"({"y":[1],"start":"2026-01-31"})"), HasSubstr("does not say how far apart"));
  EXPECT_EQ(field_, "freq");
}

TEST_F(SeriesBodyTest, TextsAreCategories) {
  const auto read = Read(R"({"y":[1,2,3],"future":{"day":["mon","tue",null,"mon",true]}})");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_TRUE(read->covariates[0].categorical);
  EXPECT_EQ(read->items[0].covariates[0].codes.size(), 5u);
  EXPECT_EQ(read->items[0].covariates[0].codes[0], read->items[0].covariates[0].codes[3]);
}

TEST_F(SeriesBodyTest, SaysWhatIsWrongAndWhere) {
  const std::tuple<const char*, const char*, const char*> cases[] = {
      {R"({})", "y", "is missing"},
      {R"([1])", "", "an object is expected"},
      {R"({"y":[1],"targets":{"a":[1]}})", "y", "beside targets"},
      {R"({"targets":{}})", "targets", "names 0 targets"},
      {R"({"targets":{"a":[1,2],"b":[1]}})", "targets.b", "has 1 values, the first target 2"},
      {R"({"y":5})", "y", "a list of numbers"},
      {R"({"y":[]})", "", "holds no value"},
      {R"({"y":[1,[2]]})", "y[1]", "a number or null"},
      {R"({"y":[1,2],"sizes":[1]})", "sizes", "adds up to 1"},
      {R"({"y":[1,2],"sizes":[2,0]})", "sizes[1]", "an integer in [1,"},
      {R"({"y":[1,2],"sizes":[-1,3]})", "sizes[0]", "an integer in [1,"},
      {R"({"y":[1,2],"sizes":[1.5,0.5]})", "sizes[0]", "an integer"},
      {R"({"y":[1,2],"items":["a","b"]})", "items", "2 names for 1 items"},
      {R"({"y":[1,2],"times":["2026-01-01"]})", "times", "1 times for 2 rows"},
      {R"({"y":[1,2],"times":["2026-01-01","2026-01-01"]})", "times", "item 0"},
      {R"({"y":[1],"times":["2026-01-01"]})", "freq", "shows no step"},
      {R"({"y":[1,2],"start":"2026-01-01","times":[1,2]})", "start", "beside times"},
      {R"({"y":[1,2],"past":{"w":[1]}})", "past.w", "2 are expected, one per row"},
      {R"({"y":[1,2],"future":{"w":[1,2]}})", "future.w", "4 are expected"},
      {R"({"y":[1,2],"past":{"y":[1,2]}})", "past.y", "is a target"},
      {R"({"y":[1,2],"past":{"w":[1,2]},"future":{"w":[1,2,3,4]}})", "future.w", "is in past, too"},
      {R"({"y":[1,2],"past":[1]})", "past", "an object"},
      {R"({"y":[1,2],"past":{"w":["a",[1]]}})", "past.w[1]", "a number, text, true, false or null"},
      {R"({"y":[1],"x":1})", "x", "is not known"},
  };
  for (const auto& [json, field, message] : cases) {
    EXPECT_THAT(Error(json), HasSubstr(message)) << json;
    EXPECT_EQ(field_, field) << json;
  }
  EXPECT_THAT(Error(R"({"y":[1,2],"start":"2026-01-01"})", "fortnight"), HasSubstr("freq"));
  EXPECT_THAT(Error(R"({"y":[1,2],"start":"9999-12-31"})", "D"), HasSubstr("9999-12-31"));
}

TEST_F(SeriesBodyTest, KeepsWithinTheLimits) {
  limits_ = {.series = 2, .values = 10};
  EXPECT_TRUE(Read(R"({"y":[1,2],"sizes":[1,1]})").ok());
  EXPECT_THAT(Error(R"({"y":[1,2,3],"sizes":[1,1,1]})"), HasSubstr("at most 2 are taken"));
  EXPECT_THAT(Error(R"({"targets":{"a":[1,2],"b":[1,2]},"sizes":[1,1]})"), HasSubstr("limits.series"));
  EXPECT_THAT(Error(R"({"y":[1,2,3,4,5,6,7,8,9,10,11]})"), HasSubstr("more than 10 values"));
  EXPECT_THAT(Error(R"({"y":[1,2,3,4,5,6],"past":{"w":[1,2,3,4,5,6]}})"), HasSubstr("limits.values"));
  // Gaps between rows count, too.
  EXPECT_THAT(Error(R"({"y":[1,2],"times":["2026-01-01T00:00","2026-01-01T15:00"]})", "h"),
              HasSubstr("limits.values"));
}

TEST(JsonBody, TakesEachKeyOnce) {
  const auto body = JsonBody::Parse(R"({"a": 1, "b": {"c": 1, "d": 2, "c": 3}, "a": 2})");
  ASSERT_TRUE(body.ok()) << body.status();
  EXPECT_EQ(body->root().CheckKeys({"a", "b"}).message(), "a: is given twice");
  EXPECT_EQ(body->root().Find("b")->ExpectObject().message(), "b.c: is given twice");
}

TEST(JsonBody, SaysWhatIsNoJson) {
  for (const char* bad : {"", "{", "{\"a\":}", "nul", "{\"a\":NaN}", "\xff\xfe", "[1,2", "{\"a\":1}x"}) {
    EXPECT_EQ(JsonBody::Parse(bad).status().code(), absl::StatusCode::kInvalidArgument) << bad;
  }
  // Deeper than anybody needs.
  EXPECT_FALSE(JsonBody::Parse(std::string(100000, '[')).ok());
}

}  // namespace
}  // namespace plinth::server
