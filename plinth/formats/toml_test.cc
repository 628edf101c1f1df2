// Reads TOML into the tree that configurations have, and refuses what is wrong with its line.
#include "plinth/formats/toml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plinth::formats {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Toml, GivesEveryKindOfValueInTheOrderOfTheFile) {
  const auto toml = ParseToml(
      "b = 1\na = 2.5\nflag = true\ntext = 'x'\nday = 2026-12-31\nlist = ['p', 'q']\n"
      "[[rules]]\nname = 'one'\n[[rules]]\nname = 'two'\n[deep.er]\nn = 3\n",
      "r.toml");
  ASSERT_TRUE(toml.ok()) << toml.status();
  EXPECT_EQ((*toml->json().object())[0].first, "b");
  EXPECT_EQ(*toml->Int("b", 0, 9), 1);
  EXPECT_EQ(*toml->Real("a", 0, 9), 2.5);
  EXPECT_EQ(*toml->Real("b", 0, 9), 1.0);
  EXPECT_TRUE(*toml->Flag("flag"));
  EXPECT_EQ(*toml->Text("day"), "2026-12-31");
  EXPECT_THAT(*toml->Texts("list"), ElementsAre("p", "q"));
  const auto rules = toml->Sections("rules");
  ASSERT_TRUE(rules.ok()) << rules.status();
  ASSERT_EQ(rules->size(), 2u);
  EXPECT_EQ(*(*rules)[1].Text("name"), "two");
  EXPECT_EQ(*toml->Section("deep")->Section("er")->Int("n", 0, 9), 3);
  EXPECT_TRUE(toml->Sections("none")->empty());
}

TEST(Toml, SaysWhatIsWrongAndWhere) {
  const auto message = [](std::string_view text) {
    return std::string(ParseToml(text, "r.toml").status().message());
  };
  EXPECT_THAT(message("a = 1\nb = = 2\n"), HasSubstr("r.toml: line 2: not TOML: "));
  EXPECT_THAT(message("a = 1\na = 2\n"), HasSubstr("r.toml: line 2: not TOML: "));
  EXPECT_THAT(message("a = 1\n\nb = nan\n"), HasSubstr("r.toml: line 3: a value is not finite"));
  std::string deep = "a = ";
  for (int i = 0; i < 100; ++i) deep += "[";
  for (int i = 0; i < 100; ++i) deep += "]";
  EXPECT_THAT(message(deep), HasSubstr("deeper"));
  const auto toml = ParseToml("[task]\nkind = 3\nlist = [1]\n[[rule]]\nx = 1\n", "r.toml");
  ASSERT_TRUE(toml.ok());
  EXPECT_THAT(std::string(toml->Section("task")->Text("kind").status().message()),
              HasSubstr("r.toml: \"task.kind\" is 3; text is expected"));
  EXPECT_THAT(std::string(toml->Section("task")->Texts("list").status().message()),
              HasSubstr("r.toml: \"task.list[0]\" is 1; text is expected"));
  EXPECT_THAT(std::string(toml->Sections("task").status().message()),
              HasSubstr("a list of objects is expected"));
  EXPECT_THAT(std::string((*toml->Sections("rule"))[0].Text("name").status().message()),
              HasSubstr("r.toml: \"rule[0].name\" is missing; text is expected"));
  EXPECT_THAT(std::string(toml->CheckKeys({"task"}).message()),
              HasSubstr("r.toml: unknown key \"rule\"; task is expected"));
  EXPECT_THAT(std::string((*toml->Sections("rule"))[0].CheckKeys({"name", "why"}).message()),
              HasSubstr("r.toml: unknown key \"rule[0].x\"; name, why are expected"));
}

TEST(Toml, TellsTheLineOfWhatAGetterRefuses) {
  const auto toml =
      ParseTomlWithLines("[task]\nkind = 3\n[[rule]]\nx = 1\n[[rule]]\nlist = [\n 1,\n 'a']\n", "r.toml");
  ASSERT_TRUE(toml.ok()) << toml.status();
  EXPECT_EQ(toml->Section("task")->Text("kind").status().message(),
            "r.toml: line 2: \"task.kind\" is 3; text is expected");
  const auto rules = toml->Sections("rule");
  EXPECT_EQ((*rules)[0].Text("name").status().message(),
            "r.toml: line 3: \"rule[0].name\" is missing; text is expected");
  EXPECT_EQ((*rules)[1].Texts("list").status().message(),
            "r.toml: line 7: \"rule[1].list[0]\" is 1; text is expected");
  EXPECT_EQ((*rules)[0].CheckKeys({"name"}).message(),
            "r.toml: line 4: unknown key \"rule[0].x\"; name is expected");
  EXPECT_EQ(toml->Text("none").status().message(), "r.toml: \"none\" is missing; text is expected");
}

}  // namespace
}  // namespace plinth::formats
