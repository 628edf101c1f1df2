#include "plinth/server/http/framing.h"

#include <gtest/gtest.h>

namespace plinth::server::http {
namespace {

std::string Check(const Fields& fields, bool old = false) {
  return CheckFraming("POST /a HTTP/1.1\r\nhost: x\r\n\r\n", "/a", fields, old);
}

TEST(Framing, TakesOneLengthOrChunks) {
  EXPECT_EQ(Check({}), "");
  EXPECT_EQ(Check({{"content-length", "12"}}), "");
  EXPECT_EQ(Check({{"transfer-encoding", "chunked"}}), "");
  EXPECT_EQ(Check({{"transfer-encoding", "Chunked"}}), "");
}

TEST(Framing, RefusesLengthsThatCouldBeReadInTwoWays) {
  EXPECT_EQ(Check({{"content-length", "5"}, {"content-length", "5"}}),
            "content-length is given more than once");
  for (const char* length : {"5, 5", "+5", "", "0x5", "5 5"}) {
    EXPECT_EQ(Check({{"content-length", length}}), "content-length is not one number") << length;
  }
  EXPECT_EQ(Check({{"content-length", "5"}, {"transfer-encoding", "chunked"}}),
            "both content-length and transfer-encoding are given");
  EXPECT_EQ(Check({{"transfer-encoding", "chunked"}, {"transfer-encoding", "chunked"}}),
            "transfer-encoding is given more than once");
  for (const char* encoding : {"identity", "gzip, chunked", "chunked, gzip", "xchunked", "chunked;a=b", ""}) {
    EXPECT_EQ(Check({{"transfer-encoding", encoding}}), "transfer-encoding is expected to be chunked alone")
        << encoding;
  }
  EXPECT_EQ(Check({{"transfer-encoding", "chunked"}}, true), "transfer-encoding is not part of HTTP/1.0");
}

TEST(Framing, RefusesLinesThatGoOnAndBareEnds) {
  EXPECT_EQ(CheckFraming("GET / HTTP/1.1\r\nhost: x\r\na: b\r\n c\r\n\r\n", "/", {}, false),
            "a field is continued on a second line");
  EXPECT_EQ(CheckFraming("GET / HTTP/1.1\r\n\thost: x\r\n\r\n", "/", {}, false),
            "a field is continued on a second line");
  EXPECT_EQ(CheckFraming("GET / HTTP/1.1\r\nhost: x\na: b\r\n\r\n", "/", {}, false),
            "a line of the header ends without CR");
}

TEST(Framing, RefusesBytesThatAnAddressCannotHave) {
  const std::string wrong = "the address has bytes that are no visible ASCII; write them as %XX";
  for (const std::string target : {"/a b", "/\xc3\xa4", "/\x01", "/\x7f"}) {
    EXPECT_EQ(CheckFraming("", target, {}, false), wrong);
  }
  EXPECT_EQ(CheckFraming("", "/a%20b?c=%C3%A4", {}, false), "");
}

}  // namespace
}  // namespace plinth::server::http
