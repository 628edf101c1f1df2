#include "plinth/report/markup.h"

#include <cmath>
#include <limits>
#include <string>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace plinth {
namespace {

std::string Json(std::string_view text) {
  std::string out;
  AppendJsonString(text, &out);
  return out;
}
std::string Number(double value) {
  std::string out;
  AppendJsonNumber(value, &out);
  return out;
}

TEST(Markup, EscapesHtml) {
  EXPECT_EQ(EscapeHtml("<a href=\"x\" id='y'>&</a>"),
            "&lt;a href=&quot;x&quot; id=&#39;y&#39;&gt;&amp;&lt;/a&gt;");
  EXPECT_EQ(EscapeHtml(std::string("a\0b\x1b\xff\n", 6)), "a\uFFFDb\uFFFD\uFFFD\n");
  EXPECT_EQ(EscapeHtml("变电站"), "变电站");
}

TEST(Markup, JsonStringsLeaveNoWayOutOfAScript) {
  EXPECT_EQ(Json("</script>"), "\"\\u003c/script\\u003e\"");
  EXPECT_EQ(Json("<!--"), "\"\\u003c!--\"");
  EXPECT_EQ(Json("\u2028\u2029"), "\"\\u2028\\u2029\"");
  EXPECT_EQ(Json("\"\\\n"), "\"\\\"\\\\\\u000a\"");
  EXPECT_EQ(Json("\xed\xa0\x80"), "\"\uFFFD\uFFFD\uFFFD\"");
}

TEST(Markup, JsonStringsReadBack) {
  std::string all;
  for (int c = 0; c < 128; ++c) all += static_cast<char>(c);
  all += "变电站 \u2028 \U0001F600";
  EXPECT_EQ(nlohmann::json::parse(Json(all)).get<std::string>(), all);
}

TEST(Markup, NumbersAreShortAndReadBack) {
  EXPECT_EQ(Number(22262), "22262");
  EXPECT_EQ(Number(double{0.1f}), "0.1");
  EXPECT_EQ(Number(1000000.001), "1000000.001");
  EXPECT_EQ(Number(123456792), "123456792");  // as a float it would be 123456790
  EXPECT_EQ(Number(std::nan("")), "null");
  EXPECT_EQ(Number(-std::numeric_limits<double>::infinity()), "null");
  for (const double value : {1e300, -4.9e-324, 1.7976931348623157e308, 0.1, 1.0 / 3, 1e-12, -0.0}) {
    EXPECT_EQ(nlohmann::json::parse(Number(value)).get<double>(), value) << Number(value);
  }
}

}  // namespace
}  // namespace plinth
