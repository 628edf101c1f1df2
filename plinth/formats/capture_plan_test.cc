#include "plinth/formats/capture_plan.h"

#include <cstdio>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "plinth/base/files.h"

namespace plinth::formats {
namespace {

std::string Refusal(const std::string& text) {
  const auto plan = ParseCapturePlan(text, "p.toml");
  return plan.ok() ? "accepted" : std::string(plan.status().message());
}
constexpr const char* kHead = "schema = \"plinth.capture-plan/1\"\n";

TEST(CapturePlan, ReadsEveryKey) {
  const auto plan = ParseCapturePlan(R"(schema = "plinth.capture-plan/1"
[[record]]
name = "encoder.block.3"
what = "full"
operators = true
[[record]]
name = "encoder.*"
[[record]]
name = "x"
what = "full"
direction = ["output"]
[[replace]]
name = "encoder.block.3"
capture = "path/to/reference"
)",
                                     "p.toml");
  ASSERT_TRUE(plan.ok()) << plan.status();
  ASSERT_EQ(plan->records.size(), 3u);
  EXPECT_TRUE(plan->records[0].full && plan->records[0].inputs && plan->records[0].outputs &&
              plan->records[0].operators);
  EXPECT_TRUE(!plan->records[1].full && !plan->records[1].inputs && plan->records[1].outputs &&
              !plan->records[1].operators);
  EXPECT_TRUE(plan->records[2].full && !plan->records[2].inputs && plan->records[2].outputs);
  EXPECT_EQ(plan->replacements[0].capture, "path/to/reference");
}

TEST(CapturePlan, ComesBackFromItsText) {
  CapturePlan plan;
  plan.records.push_back({"a.\"b\"\\\n", true, true, false, true});
  plan.records.push_back({"c*", false, false, true, false});
  plan.replacements.push_back({"d", "folder with spaces"});
  plan.forced_by = "ref";
  const std::string text = ToToml(plan, "one\ntwo");
  EXPECT_EQ(text.substr(0, 12), "# one\n# two\n");
  const auto back = ParseCapturePlan(text, "p.toml");
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(ToToml(*back), ToToml(plan));
  EXPECT_EQ(back->records[0].name, plan.records[0].name);
  EXPECT_EQ(Refusal(ToToml({})), "accepted");
}

TEST(CapturePlan, PathsBeginBesideTheFile) {
  const std::string path = testing::TempDir() + "/plinth_plan.toml";
  ASSERT_TRUE(WriteFile(path, StrCat(kHead,
                                     "forced_by = \"/ref\"\n[[replace]]\nname = \"a\"\n"
                                     "capture = \"c\""))
                  .ok());
  const auto plan = LoadCapturePlan(path);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->replacements[0].capture, testing::TempDir() + "/c");
  EXPECT_EQ(plan->forced_by, "/ref");
  std::remove(path.c_str());
}

TEST(CapturePlan, RefusesWhatItDoesNotKnow) {
  using testing::HasSubstr;
  EXPECT_THAT(Refusal("schema = \"x\""),
              HasSubstr(R"("schema" is "x"; "plinth.capture-plan/1" is expected)"));
  EXPECT_THAT(Refusal(""), HasSubstr(R"("schema" is missing)"));
  EXPECT_THAT(Refusal(StrCat(kHead, "recrod = 1")), HasSubstr("recrod"));
  EXPECT_THAT(Refusal(StrCat(kHead, "record = 1")), HasSubstr(R"("record" is 1)"));
  EXPECT_THAT(Refusal(StrCat(kHead, "[[record]]\nwhat = \"full\"")), HasSubstr("name\" is missing"));
  EXPECT_THAT(Refusal(StrCat(kHead, "[[record]]\nname = \"\"")), HasSubstr("1 to 4096 bytes"));
  EXPECT_THAT(Refusal(StrCat(kHead, "[[record]]\nname = \"", std::string(5000, 'x'), "\"")),
              HasSubstr("1 to 4096 bytes"));
  EXPECT_THAT(Refusal(StrCat(kHead, "[[record]]\nname = \"a\"\nwhat = \"all\"")), HasSubstr("\"all\""));
  for (const char* direction : {"[]", "[\"up\"]"}) {
    EXPECT_THAT(Refusal(StrCat(kHead, "[[record]]\nname = \"a\"\ndirection = ", direction)),
                HasSubstr("direction"));
  }
  EXPECT_THAT(Refusal(StrCat(kHead, "[[replace]]\nname = \"a\"")), HasSubstr("capture\" is missing"));
  EXPECT_THAT(Refusal("schema = "), HasSubstr("p.toml: line 1"));
}

TEST(Patterns, AModuleHoldsWhatIsInside) {
  EXPECT_TRUE(MatchesModuleOf("encoder.block.3", "encoder.block.3.layer.0"));
  EXPECT_TRUE(MatchesModuleOf("encoder.block.3", "encoder.block.3"));
  EXPECT_FALSE(MatchesModuleOf("encoder.block.3", "encoder.block.31"));
  EXPECT_TRUE(MatchesModuleOf("*.3", "encoder.block.3.layer.0"));
}

}  // namespace
}  // namespace plinth::formats
