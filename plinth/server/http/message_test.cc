#include "plinth/server/http/message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plinth::server::http {
namespace {

TEST(DecodePercent, UndoesEscapes) {
  EXPECT_EQ(*DecodePercent("a%20b%2Fc"), "a b/c");
  EXPECT_EQ(*DecodePercent("%E6%B3%B5"), "泵");
  EXPECT_EQ(*DecodePercent("a+b"), "a+b");
  EXPECT_EQ(*DecodePercent("a+b", true), "a b");
  EXPECT_EQ(*DecodePercent(""), "");
}

TEST(DecodePercent, RefusesWhatIsNoAddress) {
  for (const char* bad : {"%", "%2", "a%2", "%zz", "%2g"}) {
    EXPECT_THAT(std::string(DecodePercent(bad).status().message()),
                testing::HasSubstr("two hexadecimal digits"))
        << bad;
  }
  EXPECT_THAT(std::string(DecodePercent("%00").status().message()), testing::HasSubstr("NUL"));
  EXPECT_THAT(std::string(DecodePercent("%ff").status().message()), testing::HasSubstr("not UTF-8"));
}

TEST(SplitTarget, TakesPathAndQueryApart) {
  Request request;
  request.target = "/v1/a%20b?x=1&y=a+b%26c&&flag&x=2";
  ASSERT_TRUE(SplitTarget(&request).ok());
  EXPECT_EQ(request.path, "/v1/a%20b");
  EXPECT_THAT(request.query, testing::ElementsAre(testing::Pair("x", "1"), testing::Pair("y", "a b&c"),
                                                  testing::Pair("flag", ""), testing::Pair("x", "2")));
  EXPECT_EQ(*request.Query("x"), "1");
  EXPECT_EQ(request.Query("z"), nullptr);
  for (const char* bad : {"", "*", "http://a/", "v1", "/a?%"}) {
    request.target = bad;
    EXPECT_FALSE(SplitTarget(&request).ok()) << bad;
  }
}

TEST(ErrorResponse, IsTheContractsObject) {
  EXPECT_EQ(ErrorResponse(400, "bad_value", "horizon: \"x\"", "horizon").body,
            "{\"error\":\"horizon: \\\"x\\\"\",\"code\":\"bad_value\",\"field\":\"horizon\"}\n");
  EXPECT_EQ(ErrorResponse(503, "busy", "later").body, "{\"error\":\"later\",\"code\":\"busy\"}\n");
}

TEST(ReasonPhrase, IsThereForEveryStatusThatIsSent) {
  for (const int status : {100, 200, 201, 204, 304, 400, 401, 403, 404, 405, 406, 408, 409, 411,
                           413, 414, 415, 417, 422, 429, 431, 499, 500, 501, 503, 504, 505, 507}) {
    EXPECT_FALSE(ReasonPhrase(status).empty()) << status;
  }
  EXPECT_TRUE(ReasonPhrase(299).empty());
}

}  // namespace
}  // namespace plinth::server::http
