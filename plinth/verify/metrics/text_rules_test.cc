// Rules that are data: transcripts, answers, formats; and the distance by which transcripts are compared.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plinth/base/random.h"
#include "plinth/verify/metrics/answer_rules.h"
#include "plinth/verify/metrics/edit_distance.h"
#include "plinth/verify/metrics/test_files.h"
#include "plinth/verify/metrics/transcript.h"

namespace plinth::verify::metrics {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// The table of the textbook.
int64_t PlainDistance(const std::vector<uint32_t>& a, const std::vector<uint32_t>& b) {
  std::vector<int64_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = static_cast<int64_t>(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    int64_t diagonal = row[0]++;
    for (size_t j = 1; j <= b.size(); ++j) {
      const int64_t best = std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = std::exchange(row[j], best);
    }
  }
  return row[b.size()];
}

TEST(EditDistance, EqualsThePlainTable) {
  Random random(5);
  for (int round = 0; round < 400; ++round) {
    // Around the 64 and 128 symbols at which blocks begin.
    std::vector<uint32_t> a(random.Below(round % 4 == 0 ? 200 : 20)),
        b(random.Below(round % 4 == 0 ? 200 : 20));
    const uint64_t symbols = 2 + random.Below(5);
    for (uint32_t& s : a) s = static_cast<uint32_t>(random.Below(symbols));
    for (uint32_t& s : b) s = static_cast<uint32_t>(random.Below(symbols));
    EXPECT_EQ(EditDistance(a, b), PlainDistance(a, b)) << a.size() << " " << b.size();
  }
}

TEST(EditDistance, AtBlockEdges) {
  for (const size_t n : {1, 63, 64, 65, 127, 128, 129}) {
    std::vector<uint32_t> a(n, 1), b(n, 2);
    EXPECT_EQ(EditDistance(a, b), static_cast<int64_t>(n));
    EXPECT_EQ(EditDistance(a, {}), static_cast<int64_t>(n));
    EXPECT_EQ(EditDistance(a, a), 0);
    b.assign(n, 1);
    b[n / 2] = 9;
    EXPECT_EQ(EditDistance(a, b), 1);
  }
}

TEST(Transcript, English) {
  const auto rules = TranscriptRules::Shipped("en");
  ASSERT_TRUE(rules.ok()) << rules.status();
  EXPECT_EQ(rules->digest().size(), 64u);
  EXPECT_THAT(rules->Cut("  Okay, UM — Mr. O\u2019Neil can\u2019t stop; 50%!").words,
              ElementsAre("ok", "mister", "o'neil", "can", "not", "stop", "50", "percent"));
  EXPECT_THAT(rules->Cut("...").words, IsEmpty());
  EXPECT_THAT(rules->Cut("...").characters, IsEmpty());
}

TEST(Transcript, Chinese) {
  const auto rules = TranscriptRules::Shipped("zh");
  ASSERT_TRUE(rules.ok()) << rules.status();
  const auto symbols = rules->Cut("打开 ＰＬＣ，三号阀门！OK");
  EXPECT_THAT(symbols.words, ElementsAre("打", "开", "plc", "三", "号", "阀", "门", "ok"));
  EXPECT_EQ(symbols.characters.size(), 11u);  // without spaces
}

TEST(Transcript, RefusesBadRules) {
  const TestFiles files;
  const auto error = [&](const std::string& text) {
    return std::string(TranscriptRules::Load(files.Write("r.toml", text), "x").status().message());
  };
  const std::string schema = "schema = \"plinth.asr-rules/1\"\n";
  EXPECT_THAT(error(schema + "[y]\nlower = true\n"), HasSubstr("r.toml: has no table \"x\"; there are y"));
  EXPECT_THAT(error("[x]\n"), HasSubstr("\"schema\""));
  EXPECT_THAT(error(schema + "[x]\nlowr = true\n"), HasSubstr("lowr"));
  EXPECT_THAT(error(schema + "[x]\nunicode = \"nfd\"\n"), HasSubstr("nfkc"));
  EXPECT_THAT(error(schema + "[x.replace]\na = 1\n"), HasSubstr("a table of"));
  EXPECT_THAT(error(schema + "[x\n"), HasSubstr("line 2"));
  EXPECT_THAT(std::string(TranscriptRules::Shipped("schema").status().message()),
              HasSubstr("there are plain, en, zh"));
}

TEST(AnswerRules, Refusals) {
  const auto rules = AnswerRules::Shipped();
  ASSERT_TRUE(rules.ok()) << rules.status();
  for (const char* answer : {"I can't help with that.", "I\u2019m sorry, but I can\u2019t do it",
                             "I CANNOT PROVIDE this", "抱歉，我无法提供这些信息。", "我不能回答这个问题",
                             "很抱歉，无法满足您的要求", "对不起，我不能这样做"}) {
    EXPECT_TRUE(rules->Refuses(answer)) << answer;
  }
  for (const char* answer :
       {"", "The valve cannot open below 2 bar.", "可以，方法如下：", "Sure! Here is how.",
        "电机无法启动的原因有三个", "该传感器无法提供温度，请检查接线。",
        "阀门不能关闭时我不能确定原因，请先断电。"}) {
    EXPECT_FALSE(rules->Refuses(answer)) << answer;
  }
  // What comes late is no refusal.
  EXPECT_FALSE(rules->Refuses(std::string(200, 'x') + " I cannot help"));
}

TEST(AnswerRules, Comparable) {
  const auto rules = AnswerRules::Shipped();
  ASSERT_TRUE(rules.ok());
  EXPECT_EQ(rules->Comparable("  The  Answer\n is ４２。"), rules->Comparable("the answer is 42"));
  EXPECT_NE(rules->Comparable("4 2"), rules->Comparable("42"));
}

TEST(AnswerRules, Citations) {
  const auto rules = AnswerRules::Shipped();
  ASSERT_TRUE(rules.ok());
  EXPECT_THAT(rules->Citations("See [doc-3] and [7], again [doc-3]; 见【手册 2】与《安全规程》。"),
              ElementsAre("doc-3", "7", "手册 2", "安全规程"));
  EXPECT_THAT(rules->Citations("none [] 【】"), IsEmpty());
}

TEST(AnswerRules, ShippedFormats) {
  const auto rules = AnswerRules::Shipped();
  ASSERT_TRUE(rules.ok());
  const auto adheres = [&](const char* format, std::string_view answer) {
    return rules->Format(format)->Adheres(answer);
  };
  EXPECT_TRUE(adheres("json", "[1]"));
  EXPECT_FALSE(adheres("json", "[1"));
  EXPECT_TRUE(adheres("json_object", "```json\n{\"a\":1}\n```"));
  EXPECT_TRUE(adheres("json_object", "{}"));
  EXPECT_FALSE(adheres("json_object", "[]"));
  EXPECT_FALSE(adheres("json_object", "```"));
  EXPECT_TRUE(adheres("yes_no", "Yes."));
  EXPECT_TRUE(adheres("yes_no", "是。"));
  EXPECT_FALSE(adheres("yes_no", "Yes, because"));
  EXPECT_TRUE(adheres("number", " -1.5e3 "));
  EXPECT_FALSE(adheres("number", "about 3"));
  EXPECT_TRUE(adheres("one_letter", "(B)"));
  EXPECT_TRUE(adheres("bullet_list", "- a\n- b\n"));
  EXPECT_TRUE(adheres("bullet_list", "1. 一\n2. 二"));
  EXPECT_FALSE(adheres("bullet_list", "text\n- a"));
  EXPECT_FALSE(adheres("not_empty", " \n"));
  EXPECT_TRUE(adheres("not_empty", "\n x\n"));
  EXPECT_EQ(rules->Format("none"), nullptr);
}

TEST(AnswerRules, Schemas) {
  const TestFiles files;
  const auto rules = AnswerRules::Load(files.Write("r.toml", R"(schema = "plinth.generation-rules/1"
[formats.order]
kind = "json"
[formats.order.schema]
type = "object"
required = ["item", "count"]
additionalProperties = false
[formats.order.schema.properties]
item = { type = "string", minLength = 2, maxLength = 4, pattern = "^[a-z阀]+$" }
count = { type = "integer", minimum = 1, maximum = 5 }
state = { enum = ["open", 1, true] }
tags = { type = ["array", "null"], items = { type = "string" }, maxItems = 2, minItems = 1 }
)"));
  ASSERT_TRUE(rules.ok()) << rules.status();
  const AnswerFormat& order = *rules->Format("order");
  for (const char* good :
       {R"({"item":"ab","count":1})", R"({"item":"阀阀","count":5.0,"state":1,"tags":["x"]})",
        R"({"count":2,"item":"abc","tags":null,"state":true})"}) {
    EXPECT_TRUE(order.Adheres(good)) << good;
  }
  for (const char* bad : {R"({"item":"ab"})", R"({"item":"a","count":1})", R"({"item":"abcde","count":1})",
                          R"({"item":"AB","count":1})", R"({"item":"ab","count":0})",
                          R"({"item":"ab","count":1.5})", R"({"item":"ab","count":6})",
                          R"({"item":"ab","count":1,"x":0})", R"({"item":"ab","count":1,"state":"shut"})",
                          R"({"item":"ab","count":1,"tags":[]})", R"({"item":"ab","count":1,"tags":[1]})",
                          R"({"item":"ab","count":1,"tags":["a","b","c"]})", R"([])", R"("x")", ""}) {
    EXPECT_FALSE(order.Adheres(bad)) << bad;
  }
}

TEST(AnswerRules, RefusesBadRules) {
  const TestFiles files;
  const auto error = [&](const std::string& text) {
    return std::string(
        AnswerRules::Load(files.Write("r.toml", "schema = \"plinth.generation-rules/1\"\n" + text))
            .status()
            .message());
  };
  EXPECT_THAT(error("[formats.x]\nkind = \"xml\"\n"), HasSubstr("\"pattern\", \"json\""));
  EXPECT_THAT(error("[formats.x]\nkind = \"pattern\"\npattern = \"(\"\n"), HasSubstr("missing )"));
  EXPECT_THAT(error("[formats.x]\nkind = \"json\"\nschema = { typ = 1 }\n"),
              HasSubstr("schema.typ is not known"));
  EXPECT_THAT(error("[formats.x]\nkind = \"json\"\nschema = { type = \"text\" }\n"),
              HasSubstr("schema.type is \"text\""));
  EXPECT_THAT(error("[formats.x]\nkind = \"json\"\nschema = { properties = { a = 1 } }\n"),
              HasSubstr("schema.properties.a is 1"));
  EXPECT_THAT(error("[citation]\npatterns = [\"x\"]\n"), HasSubstr("patterns with a group"));
  EXPECT_THAT(error("[refusal]\nphrases = [\"\"]\n"), HasSubstr("none of them empty"));
  EXPECT_THAT(error("[refusals]\n"), HasSubstr("refusals"));
  // Backtracking would take 2^40 steps.
  const auto rules = AnswerRules::Load(files.Write(
      "slow.toml",
      "schema = \"plinth.generation-rules/1\"\n[formats.x]\nkind = \"pattern\"\npattern = \"(a+)+b\"\n"));
  ASSERT_TRUE(rules.ok());
  EXPECT_FALSE(rules->Format("x")->Adheres(std::string(100'000, 'a')));
}

}  // namespace
}  // namespace plinth::verify::metrics
