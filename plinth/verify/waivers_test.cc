// Waivers: what a record must say, when it counts, and that it makes no pass.
#include "plinth/verify/waivers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plinth/series/civil_time.h"

namespace plinth::verify {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr int64_t kToday = series::DaysFromCivil(2026, 12, 1);

std::string Record(std::string_view change_from = "", std::string_view change_to = "") {
  std::string text =
      "[[waiver]]\ntensor = 'encoder.*.norm'\nrule = 4\nowner = 'Li Wei'\nreason = 'fused kernel, measured'\n"
      "expires = 2027-03-31\n";
  if (!change_from.empty()) text.replace(text.find(change_from), change_from.size(), change_to);
  return text;
}
std::string Refusal(std::string_view from, std::string_view to) {
  return std::string(ParseWaivers(Record(from, to), "w.toml", kToday).status().message());
}

TensorVerdict Warned(int rule) {
  TensorVerdict v;
  v.verdict = Verdict::kWarn;
  for (int i = 0; i < 4; ++i)
    v.rules[static_cast<size_t>(i)] = {.number = i + 1, .state = RuleState::kHolds, .detail = ""};
  v.rules[static_cast<size_t>(rule - 1)].state = RuleState::kBroken;
  return v;
}

TEST(Waivers, RefuseWithFileAndLine) {
  EXPECT_EQ(Refusal("owner = 'Li Wei'\n", ""),
            "w.toml: line 1: \"waiver[0].owner\" is missing; text is expected");
  EXPECT_EQ(Refusal("'Li Wei'", "'  '"),
            "w.toml: line 4: \"waiver[0].owner\" is \"  \"; the name of who answers for it is expected");
  EXPECT_EQ(Refusal("'fused kernel, measured'", "''"),
            "w.toml: line 5: \"waiver[0].reason\" is \"\"; why the warning is acceptable is expected");
  EXPECT_EQ(Refusal("rule = 4", "rule = 2"),
            "w.toml: line 3: \"waiver[0].rule\" is 2; 3 or 4 (what rules 1 and 2 find is a failure, which "
            "nobody can "
            "waive) is expected");
  EXPECT_EQ(Refusal("rule = 4", "rule = 5"),
            "w.toml: line 3: \"waiver[0].rule\" is 5; an integer in [1, 4] is expected");
  for (const char* date :
       {"2029-01-01", "'soon'", "'2027-02-29'", "'2027-13-01'", "'2027-3-1'", "2027-03-31T10:00:00Z"}) {
    EXPECT_THAT(Refusal("2027-03-31", date),
                HasSubstr("a date like 2027-03-31, at most a year ahead is expected"))
        << date;
  }
  EXPECT_THAT(Refusal("expires", "until = 1\nexpires"),
              HasSubstr("w.toml: line 6: unknown key \"waiver[0].until\"; tensor, "));
  EXPECT_THAT(std::string(ParseWaivers("[waivers]\n", "w.toml", kToday).status().message()),
              HasSubstr("w.toml: line 1: unknown key \"waivers\"; waiver is expected"));
  EXPECT_THAT(std::string(LoadWaivers("/no/such.toml", kToday).status().message()),
              HasSubstr("/no/such.toml: "));
}

TEST(Waivers, LeaveAWarningAWarning) {
  const auto waivers = ParseWaivers(Record(), "w.toml", kToday);
  ASSERT_TRUE(waivers.ok()) << waivers.status();
  EXPECT_EQ(waivers->sha256.size(), 64u);
  TensorVerdict v = Warned(4);
  EXPECT_TRUE(ApplyWaivers(*waivers, "encoder.block.3.norm", &v));
  EXPECT_EQ(v.verdict, Verdict::kWarn);
  EXPECT_EQ(v.waiver, "rule 4 waived by Li Wei until 2027-03-31: fused kernel, measured");
  EXPECT_EQ(ToText(v), "warn (waived)");
  // Another rule, another tensor.
  TensorVerdict other_rule = Warned(3), other_tensor = Warned(4);
  EXPECT_FALSE(ApplyWaivers(*waivers, "encoder.block.3.norm", &other_rule));
  EXPECT_FALSE(ApplyWaivers(*waivers, "decoder.block.3.norm", &other_tensor));
  EXPECT_EQ(other_tensor.waiver, "");
}

TEST(Waivers, NeverTouchAFailureOrAPass) {
  const auto waivers = ParseWaivers(Record("'encoder.*.norm'", "'*'"), "w.toml", kToday);
  ASSERT_TRUE(waivers.ok());
  TensorVerdict failed = Warned(4), passed = Warned(4);
  failed.verdict = Verdict::kFail, passed.verdict = Verdict::kPass;
  EXPECT_FALSE(ApplyWaivers(*waivers, "x", &failed));
  EXPECT_FALSE(ApplyWaivers(*waivers, "x", &passed));
  EXPECT_EQ(failed.verdict, Verdict::kFail);
  EXPECT_EQ(failed.waiver, "");
}

TEST(Waivers, CountUntilTheEndOfTheirLastDay) {
  const int64_t last = series::DaysFromCivil(2027, 3, 31);
  EXPECT_EQ(ParseWaivers(Record(), "w.toml", last)->records.size(), 1u);
  const auto after = ParseWaivers(Record(), "w.toml", last + 1);
  EXPECT_TRUE(after->records.empty());
  EXPECT_THAT(after->notes,
              ElementsAre("w.toml: the waiver of rule 4 for \"encoder.*.norm\" by \"Li Wei\" expired on "
                          "2027-03-31 and does not count"));
  EXPECT_EQ(DayOf(int64_t{86400} * 1'000'000'000 * 20'000 + 5), 20'000);
  EXPECT_EQ(DayOf(-1), -1);
}

}  // namespace
}  // namespace plinth::verify
