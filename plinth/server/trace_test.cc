#include "plinth/server/trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace plinth::server {
namespace {

TEST(RequestId, KeepsTheClientsWhereItIsSafe) {
  EXPECT_EQ(RequestId("job-7"), "job-7");
  const std::string longest(128, 'x');
  EXPECT_EQ(RequestId(longest), longest);
  for (const std::string& bad :
       {std::string(), longest + "x", std::string("a b"), std::string("a\r\nset-cookie: b"),
        std::string("\xc3\xa9"), std::string("a\x7f")}) {
    EXPECT_THAT(RequestId(bad), testing::MatchesRegex("[0-9a-f]{32}")) << bad;
  }
}

TEST(RequestId, FreshOnesDiffer) {
  std::set<std::string> ids;
  for (int i = 0; i < 10000; ++i) ids.insert(RequestId(""));
  EXPECT_EQ(ids.size(), 10000u);
}

TEST(TraceParent, StaysInTheClientsTrace) {
  const std::string parent = TraceParent("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
  EXPECT_THAT(parent, testing::MatchesRegex("00-0af7651916cd43dd8448eb211c80319c-[0-9a-f]{16}-01"));
  EXPECT_THAT(parent, testing::Not(testing::HasSubstr("b7ad6b7169203331")));
  // A later version may have more behind; what is known of it is read.
  EXPECT_THAT(TraceParent("cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-what"),
              testing::StartsWith("00-0af7651916cd43dd8448eb211c80319c-"));
}

TEST(TraceParent, BeginsATraceWhereThereIsNone) {
  for (const char* bad : {"", "00", "00-0AF7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
                          "00-00000000000000000000000000000000-b7ad6b7169203331-01",
                          "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
                          "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
                          "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-what",
                          "cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01.what",
                          "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0x"}) {
    const std::string parent = TraceParent(bad);
    EXPECT_THAT(parent, testing::MatchesRegex("00-[0-9a-f]{32}-[0-9a-f]{16}-00")) << bad;
    EXPECT_THAT(parent, testing::Not(testing::HasSubstr("0af7651916cd43dd"))) << bad;
  }
}

}  // namespace
}  // namespace plinth::server
