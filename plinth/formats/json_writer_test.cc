#include "plinth/formats/json_writer.h"

#include <cmath>
#include <limits>

#include "gtest/gtest.h"
#include "plinth/formats/json.h"

namespace plinth::formats {
namespace {

TEST(JsonWriter, WritesCompactJson) {
  std::string out;
  JsonWriter json(&out);
  json.BeginObject();
  json.Key("a");
  json.BeginArray();
  json.Int(1);
  json.Number(0.1);
  json.Number(0.1f);
  json.Number(std::nan(""));
  json.Number(std::numeric_limits<double>::infinity());
  json.Bool(true);
  json.Null();
  json.BeginArray();
  json.EndArray();
  json.BeginObject();
  json.EndObject();
  json.EndArray();
  json.Key("b");
  json.String("x");
  json.Key("c");
  json.Raw("{\"d\":1}");
  json.EndObject();
  json.EndLine();
  json.Int(std::numeric_limits<int64_t>::min());
  json.EndLine();
  EXPECT_EQ(
      out,
      "{\"a\":[1,0.1,0.1,null,null,true,null,[],{}],\"b\":\"x\",\"c\":{\"d\":1}}\n-9223372036854775808\n");
}

TEST(JsonWriter, CanBeEmptiedBetweenCalls) {
  std::string out, all;
  JsonWriter json(&out);
  json.BeginArray();
  for (int i = 0; i < 3; ++i) {
    json.Int(i);
    all += out;
    out.clear();
  }
  json.EndArray();
  EXPECT_EQ(all + out, "[0,1,2]");
}

TEST(JsonWriter, EscapesText) {
  std::string out;
  JsonWriter json(&out);
  json.String(std::string_view("\"\\/\n\r\t\b\0\x1f\x7f\xc3\xa9\xe4\xb8\xad", 15));
  EXPECT_EQ(out, "\"\\\"\\\\/\\n\\r\\t\\u0008\\u0000\\u001f\x7f\xc3\xa9\xe4\xb8\xad\"");
  out.clear();
  json.String(
      "a\xff"
      "b\xc3");
  EXPECT_EQ(out,
            "\"a\xef\xbf\xbd"
            "b\xef\xbf\xbd\"");
  EXPECT_TRUE(ParseJson(out, "F").ok());
}

TEST(JsonWriter, NumbersReadBack) {
  for (const double value : {0.1, 1e300, 5e-324, -0.0, 123456789.123456789, 1e21, 3.0}) {
    std::string out;
    JsonWriter(&out).Number(value);
    const auto read = ParseJson(out, "F");
    ASSERT_TRUE(read.ok()) << out;
    EXPECT_EQ(read->real() != nullptr ? *read->real() : static_cast<double>(*read->integer()), value) << out;
  }
}

}  // namespace
}  // namespace plinth::formats
