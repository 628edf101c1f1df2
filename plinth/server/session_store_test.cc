#include "plinth/server/session_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plinth/server/series_body.h"

namespace plinth::server {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsNan;

class SessionStoreTest : public testing::Test {
 protected:
  // One item from the JSON of a request's series.
  static SeriesBody Body(const std::string& json, const std::string& frequency = "h") {
    auto body = JsonBody::Parse(json);
    auto read = ReadSeries(body->root(), frequency, 1, {});
    EXPECT_TRUE(read.ok()) << read.status();
    return *std::move(read);
  }
  Status Extend(SessionStore& store, const std::string& id, const std::string& json) {
    body_ = Body(json);
    return store.Extend(id, body_.targets, &body_.items[0]);
  }
  std::string Error(SessionStore& store, const std::string& json) {
    const Status status = Extend(store, "a", json);
    EXPECT_FALSE(status.ok()) << json;
    return std::string(status.message());
  }
  const std::vector<double>& Values() const { return body_.items[0].values[0]; }

  ManualClock clock_{0};
  SeriesBody body_;
};

TEST_F(SessionStoreTest, GrowsByNewRowsAndReplacesThoseSentAgain) {
  SessionStore store({}, clock_);
  ASSERT_TRUE(Extend(store, "a", R"({"y":[1,2,3],"start":"2026-01-01T00:00Z"})").ok());
  EXPECT_THAT(Values(), ElementsAre(1, 2, 3));
  ASSERT_TRUE(Extend(store, "a", R"({"y":[4],"start":"2026-01-01T03:00Z"})").ok());
  EXPECT_THAT(Values(), ElementsAre(1, 2, 3, 4));
  ASSERT_TRUE(Extend(store, "a", R"({"y":[4],"start":"2026-01-01T03:00Z"})").ok());
  EXPECT_THAT(Values(), ElementsAre(1, 2, 3, 4));
  ASSERT_TRUE(Extend(store, "a", R"({"y":[2.5,3.5],"start":"2026-01-01T01:00Z"})").ok());
  EXPECT_THAT(Values(), ElementsAre(1, 2.5, 3.5, 4));
  ASSERT_TRUE(Extend(store, "a", R"({"y":[7],"start":"2026-01-01T06:00Z"})").ok());
  EXPECT_THAT(Values(), ElementsAre(1, 2.5, 3.5, 4, IsNan(), IsNan(), 7));
  EXPECT_EQ(body_.items[0].TimeText(7), "2026-01-01T07:00Z");
  // Another one knows nothing of it.
  ASSERT_TRUE(Extend(store, "b", R"({"y":[9],"start":"2026-01-01T06:00Z"})").ok());
  EXPECT_THAT(Values(), ElementsAre(9));
}

TEST_F(SessionStoreTest, KeepsTheNewestRows) {
  SessionStore store({.rows = 3}, clock_);
  ASSERT_TRUE(Extend(store, "a", R"({"y":[1,2,3,4],"start":"2026-01-01T00:00Z"})").ok());
  EXPECT_THAT(Values(), ElementsAre(2, 3, 4));
  ASSERT_TRUE(Extend(store, "a", R"({"y":[5],"start":"2026-01-01T04:00Z"})").ok());
  EXPECT_THAT(Values(), ElementsAre(3, 4, 5));
  EXPECT_EQ(body_.items[0].TimeText(0), "2026-01-01T02:00Z");
  EXPECT_THAT(Error(store, R"({"y":[1],"start":"2026-01-01T01:00Z"})"),
              HasSubstr("before the session's oldest row"));
  EXPECT_THAT(Error(store, R"({"y":[1],"start":"2026-01-02T00:00Z"})"), HasSubstr("more than 3 rows after"));
}

TEST_F(SessionStoreTest, RefusesWhatDoesNotContinue) {
  SessionStore store({}, clock_);
  ASSERT_TRUE(Extend(store, "a", R"({"y":[1,2],"start":"2026-01-01T00:00Z"})").ok());
  EXPECT_THAT(Error(store, R"({"targets":{"z":[1]},"start":"2026-01-01T02:00Z"})"), HasSubstr("the same"));
  EXPECT_THAT(Error(store, R"({"y":[1]})"), HasSubstr("no times"));
  EXPECT_THAT(Error(store, R"({"y":[1],"start":"2026-01-01T02:30Z"})"),
              HasSubstr("not on the session's grid"));
  // Nothing of it was kept.
  ASSERT_TRUE(Extend(store, "a", R"({"y":[3],"start":"2026-01-01T02:00Z"})").ok());
  EXPECT_THAT(Values(), ElementsAre(1, 2, 3));
}

TEST_F(SessionStoreTest, NumberedRowsAreAppended) {
  SessionStore store({}, clock_);
  ASSERT_TRUE(Extend(store, "a", R"({"y":[1,2]})").ok());
  ASSERT_TRUE(Extend(store, "a", R"({"y":[3]})").ok());
  EXPECT_THAT(Values(), ElementsAre(1, 2, 3));
}

TEST_F(SessionStoreTest, ForgetsTheLongestUnusedAndTheIdle) {
  SessionStore store({.most = 2, .idle_nanoseconds = 100}, clock_);
  ASSERT_TRUE(Extend(store, "a", R"({"y":[1]})").ok());
  ASSERT_TRUE(Extend(store, "b", R"({"y":[1]})").ok());
  ASSERT_TRUE(Extend(store, "a", R"({"y":[2]})").ok());
  ASSERT_TRUE(Extend(store, "c", R"({"y":[1]})").ok());
  EXPECT_EQ(store.size(), 2);
  EXPECT_FALSE(store.Drop("b"));
  clock_.Advance(101);
  ASSERT_TRUE(Extend(store, "a", R"({"y":[5]})").ok());
  EXPECT_THAT(Values(), ElementsAre(5));
  EXPECT_EQ(store.size(), 1);
  EXPECT_TRUE(store.Drop("a"));
  EXPECT_EQ(store.size(), 0);
  SessionStore none({.most = 0}, clock_);
  EXPECT_EQ(Extend(none, "a", R"({"y":[1]})").code(), absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace plinth::server
