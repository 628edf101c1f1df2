#include "plinth/formats/config.h"

#include <limits>

#include "gtest/gtest.h"
#include "plinth/formats/json.h"

namespace plinth::formats {
namespace {

Config Parsed(std::string_view text) {
  auto config = Config::Parse(text, "D/config.json");
  EXPECT_TRUE(config.ok()) << config.status();
  return *std::move(config);
}

template <typename T>
std::string Message(const StatusOr<T>& result) {
  return result.ok() ? "accepted" : std::string(result.status().message());
}

TEST(Config, GivesValues) {
  const Config c = Parsed(R"({"i":5,"r":0.5,"f":true,"t":"x","list":[0.1,1],"ints":[1,2],
                              "in":{"deep":{"k":7}},"none":null})");
  EXPECT_EQ(*c.Int("i", 5, 5), 5);
  EXPECT_EQ(*c.Real("r", 0, 1), 0.5);
  EXPECT_EQ(*c.Real("i", 0, 10), 5.0);
  EXPECT_TRUE(*c.Flag("f"));
  EXPECT_EQ(*c.Text("t"), "x");
  EXPECT_EQ(*c.Choice("t", {"y", "x"}), "x");
  EXPECT_EQ(*c.Reals("list", 0, 1), (std::vector<double>{0.1, 1}));
  EXPECT_EQ(*c.Ints("ints", 1, 2), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(*c.Section("in")->Section("deep")->Int("k", 0, 9), 7);
  EXPECT_TRUE(c.Has("none"));
  EXPECT_FALSE(c.Has("nothing"));
}

TEST(Config, FallsBackOnlyWhereNothingStands) {
  const Config c = Parsed(R"({"none":null,"bad":"x"})");
  for (const char* key : {"none", "nothing"}) {
    EXPECT_EQ(*c.IntOr(key, 0, 1, 42), 42);
    EXPECT_EQ(*c.RealOr(key, 0, 1, 4.5), 4.5);
    EXPECT_TRUE(*c.FlagOr(key, true));
    EXPECT_EQ(*c.TextOr(key, "y"), "y");
  }
  EXPECT_FALSE(c.IntOr("bad", 0, 1, 1).ok());
  EXPECT_FALSE(c.RealOr("bad", 0, 1, 1).ok());
  EXPECT_FALSE(c.FlagOr("bad", true).ok());
}

TEST(Config, RefusesWithFoundAndExpected) {
  const Config c =
      Parsed(R"({"d_model":"abc","n":null,"big":9223372036854775808,"r":1.0,"o":{"a":[1,"b"]},"e":[]})");
  EXPECT_EQ(Message(c.Int("d_model", 1, 65536)),
            "D/config.json: \"d_model\" is \"abc\"; an integer in [1, 65536] is expected");
  EXPECT_EQ(Message(c.Int("no", 1, 2)), "D/config.json: \"no\" is missing; an integer in [1, 2] is expected");
  EXPECT_EQ(Message(c.Int("n", 1, 2)), "D/config.json: \"n\" is null; an integer in [1, 2] is expected");
  EXPECT_EQ(Message(c.Int("big", 1, 2)),
            "D/config.json: \"big\" is 9223372036854775808.0; an integer in [1, 2] is expected");
  EXPECT_EQ(Message(c.Int("r", 1, 2)), "D/config.json: \"r\" is 1.0; an integer in [1, 2] is expected");
  EXPECT_EQ(Message(c.Real("r", 2, 1e9)), "D/config.json: \"r\" is 1.0; a number in [2, 1e+09] is expected");
  EXPECT_EQ(Message(c.Flag("r")), "D/config.json: \"r\" is 1.0; true or false is expected");
  EXPECT_EQ(Message(c.Text("r")), "D/config.json: \"r\" is 1.0; text is expected");
  EXPECT_EQ(Message(c.Choice("d_model", {"x", "y"})),
            "D/config.json: \"d_model\" is \"abc\"; one of \"x\", \"y\" is expected");
  EXPECT_EQ(Message(c.Section("r")), "D/config.json: \"r\" is 1.0; an object is expected");
  EXPECT_EQ(Message(c.Section("o")->Reals("a", 0, 1)),
            "D/config.json: \"o.a[1]\" is \"b\"; a number in [0, 1] is expected");
  EXPECT_EQ(Message(c.Section("o")->Ints("a", 0, 1, 1)),
            "D/config.json: \"o.a\" is a list of 2; a list of 1 to 1 integers is expected");
  EXPECT_EQ(Message(c.Reals("e", 0, 1, 9)),
            "D/config.json: \"e\" is a list of 0; a list of 1 to 9 numbers is expected");
  EXPECT_EQ(c.Refuse("o", "a divisor of \"r\"").message(),
            "D/config.json: \"o\" is an object of 1; a divisor of \"r\" is expected");
}

TEST(Config, ListsUnknownKeys) {
  EXPECT_EQ(Parsed(R"({"a":1,"c":2,"b":3})").UnknownKeys({"c", "d"}), (std::vector<std::string>{"a", "b"}));
}

TEST(Config, LivesOnAfterItsParent) {
  const Config inner = *Parsed(R"({"a":{"b":[1,2]}})").Section("a");
  EXPECT_EQ(*inner.Ints("b", 0, 9), (std::vector<int64_t>{1, 2}));
}

TEST(Config, RefusesBadFiles) {
  const auto message = [](std::string_view text) { return Message(Config::Parse(text, "F")); };
  EXPECT_EQ(message("[1]"), "F: is a list of 1; an object is expected");
  EXPECT_EQ(message(""), "F: line 1: not JSON; last read \"\"");
  EXPECT_EQ(message("{\n\"a\": 1,\n}"), "F: line 3: not JSON; last read \"1,<U+000A>}\"");
  EXPECT_EQ(message("{\"a\":1,\"a\":2}"), "F: the key \"a\" appears twice");
  EXPECT_EQ(message("{\"x\":{\"a\":1,\"a\":2}}"), "F: the key \"a\" appears twice");
  EXPECT_EQ(message("{\"a\":1e999}"),
            "F: line 1: a number is beyond the range of double; last read \"1e999\"");
  EXPECT_EQ(message("{\"a\":NaN}"), "F: line 1: not JSON; last read \"\"a\":N\"");
  EXPECT_EQ(message("{\"a\":\"\xff\"}"), "F: line 1: not JSON; last read \"\"?\"");
  EXPECT_EQ(message(std::string(1 << 20, '[')), "F: nested deeper than 64 levels");
  EXPECT_EQ(Message(Config::Load("/nowhere/at/all")),
            "/nowhere/at/all: no such folder; a model folder is expected");
}

TEST(Json, KeepsKindsAndOrder) {
  const auto root = ParseJson(R"({"b":[1,-2,3.5,"t",true,null,{}],"a":18446744073709551615})", "F");
  ASSERT_TRUE(root.ok()) << root.status();
  ASSERT_EQ(root->object()->size(), 2u);
  EXPECT_EQ((*root->object())[0].first, "b");
  const auto& list = *root->Find("b")->array();
  EXPECT_EQ(*list[1].integer(), -2);
  EXPECT_EQ(*list[2].real(), 3.5);
  EXPECT_EQ(*list[3].text(), "t");
  EXPECT_TRUE(*list[4].flag());
  EXPECT_TRUE(list[5].is_null());
  EXPECT_TRUE(list[6].object()->empty());
  EXPECT_EQ(*root->Find("a")->real(), 18446744073709551615.0);
  EXPECT_EQ(list[1].Find("x"), nullptr);
}

TEST(Json, QuotesWhatItShows) {
  EXPECT_EQ(QuotedShort("a\nb\xff\xc3\xa9"), "\"a?b?\xc3\xa9\"");
  EXPECT_EQ(QuotedShort(std::string(79, 'x') + "\xc3\xa9y"), "\"" + std::string(79, 'x') + "...\"");
}

}  // namespace
}  // namespace plinth::formats
