// Reads the page of an acceptance as a person and as an attacker would.
#include "plinth/report/acceptance_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "plinth/report/drift_picture.h"

namespace plinth {
namespace {

using testing::HasSubstr;
using testing::Not;

AcceptanceView Example() {
  AcceptanceView view;
  view.verdict = AcceptanceView::Verdict::kFail;
  view.model = "plinth-ts-0";
  view.identity = "0123abcd";
  view.version = "0.1.0";
  view.questions = {{"operators",
                     Message::kAskOperators,
                     AcceptanceView::Answer::kYes,
                     {{Message::kOperatorsPassed, {"1200", "9", "43"}}}},
                    {"layers",
                     Message::kAskLayers,
                     AcceptanceView::Answer::kNo,
                     {{Message::kLayersDrift, {"blocks.2", "0.01", "0.008", "1e-05"}}}},
                    {"performance",
                     Message::kAskPerformance,
                     AcceptanceView::Answer::kUnproven,
                     {{Message::kSpeedRefused, {}}}}};
  view.drift = {{"embed", "linear", 1e-7, 1e-7},
                {"blocks.0", "add", 3e-7, 2e-7},
                {"blocks.1", "add", 0, 0},
                {"blocks.2", "add", 1e-2, 8e-3},
                {"blocks.3", "add", 2e-2, std::nan("")}};
  view.drift_limit = 1e-5;
  view.first_drift = "blocks.2";
  view.tables = {{Message::kTableLayers,
                  {Message::kColumnName, Message::kColumnFree},
                  {{"embed", "1e-07"}, {"blocks.2", "0.01"}},
                  {1}}};
  view.limits = {{Message::kLimitRepeats, {"5"}}};
  view.reproduce = {"plinth accept --model m"};
  return view;
}

TEST(AcceptancePage, AnswersTheQuestionsBeforeAnythingElse) {
  const std::string page = AcceptancePage(Example(), Language::kEnglish);
  EXPECT_THAT(page, HasSubstr("<html lang=\"en\">"));
  EXPECT_THAT(page, HasSubstr("This model must not serve here"));
  EXPECT_THAT(page, HasSubstr("first drift at blocks.2: relative error 0.01, of which 0.008 arises there"));
  EXPECT_LT(page.find("Seven questions"), page.find("<svg"));
  EXPECT_LT(page.find("<svg"), page.find("<h2>Layers"));
  EXPECT_LT(page.find("<h2>Layers"), page.find("Known limits"));
  EXPECT_LT(page.find("Known limits"), page.find("plinth accept --model m"));
  EXPECT_THAT(page, HasSubstr("<tr class=\"marked\"><th scope=\"row\" dir=\"auto\">blocks.2</th>"));
}

TEST(AcceptancePage, SpeaksChinese) {
  const std::string page = AcceptancePage(Example(), Language::kChinese);
  EXPECT_THAT(page, HasSubstr("<html lang=\"zh-CN\">"));
  EXPECT_THAT(page, HasSubstr("首个漂移位于 blocks.2"));
  EXPECT_THAT(page, Not(HasSubstr("first drift")));
}

TEST(AcceptancePage, SaysWhyInOneSentenceForEachQuestionThatFailed) {
  AcceptanceView view = Example();
  view.questions[1].why = view.questions[1].reasons[0];
  const std::string page = AcceptancePage(view, Language::kEnglish);
  const size_t why = page.find("Why it failed");
  ASSERT_NE(why, std::string::npos);
  EXPECT_LT(why, page.find("Seven questions"));
  EXPECT_LT(page.find("first drift at blocks.2", why), page.find("Seven questions"));
  EXPECT_THAT(AcceptancePage(Example(), Language::kEnglish), Not(HasSubstr("Why it failed")));
}

TEST(AcceptancePage, SaysWhichEarlierFailureStands) {
  AcceptanceView view = Example();
  view.questions[1].answer = AcceptanceView::Answer::kYes;
  view.standing = {
      {Message::kStandingFailure, {"T0", "layers: x", "run.repeats was 59, is 5", "plinth accept"}}};
  EXPECT_THAT(
      AcceptancePage(view, Language::kEnglish),
      HasSubstr("This run found nothing wrong, but an earlier failure of the same numerics identity stands"));
  EXPECT_THAT(AcceptancePage(view, Language::kChinese), HasSubstr("run.repeats 原为 59，现为 5"));
}

TEST(AcceptancePage, StatusesAreWordsOfTheLanguage) {
  AcceptanceView view = Example();
  view.tables = {{Message::kTableFindings,
                  {Message::kColumnName, Message::kColumnStatus, Message::kColumnSeverity},
                  {{"unproven", "unproven", "warning"}, {"a", "mistrusted", "error"}},
                  {}}};
  const std::string page = AcceptancePage(view, Language::kChinese);
  EXPECT_THAT(page, HasSubstr(">unproven</th><td dir=\"auto\">未证明</td><td dir=\"auto\">警告</td>"));
  EXPECT_THAT(page, HasSubstr("<td dir=\"auto\">不可信</td><td dir=\"auto\">错误</td>"));
}

TEST(AcceptancePage, TakesEveryTextAsHostile) {
  AcceptanceView view = Example();
  const std::string attack = "<script>alert(1)</script>\"'&\xff\u202e\u2066";
  view.model = view.identity = view.version = view.created = view.signer = view.first_drift = attack;
  view.facts = {{Message::kMachine, attack}};
  view.questions[0].reasons = {{Message::kOperatorsFailed, {attack, attack, attack}}};
  view.drift[0].layer = attack;
  view.tables[0].rows = {{attack, attack}};
  view.limits = {{Message::kLimitWaiver, {attack, attack, attack}}};
  view.reproduce = {attack};
  const std::string page = AcceptancePage(view, Language::kEnglish);
  EXPECT_THAT(page, Not(HasSubstr("<script")));
  EXPECT_THAT(page, HasSubstr("&lt;script&gt;"));
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
  EXPECT_THAT(page, Not(HasSubstr("http://")));
  EXPECT_THAT(page, Not(HasSubstr("\u202e")));
  EXPECT_THAT(page, Not(HasSubstr("\u2066")));
}

TEST(AcceptancePage, CutsLongTables) {
  AcceptanceView view = Example();
  view.tables[0].rows.assign(1000, {"row", "1"});
  EXPECT_THAT(AcceptancePage(view, Language::kEnglish), HasSubstr("400 of 1000 · records.jsonl"));
}

TEST(DriftPicture, StandsOnDecadesAndMarksTheFirst) {
  const AcceptanceView view = Example();
  const std::string svg = DriftPicture(view.drift, view.drift_limit, view.first_drift, Language::kEnglish);
  // From 1e-7 to 1e-1 (0.02 rounded up): seven decades.
  EXPECT_THAT(svg, HasSubstr(">1e-7<"));
  EXPECT_THAT(svg, HasSubstr(">1e-1<"));
  EXPECT_THAT(svg, Not(HasSubstr(">1e-8<")));
  EXPECT_THAT(svg, HasSubstr("blocks.2: 0.01"));
  EXPECT_THAT(svg, HasSubstr("blocks.1: 0<"));
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
}

TEST(DriftPicture, IsEmptyWithoutNumbers) {
  const double unknown = std::nan("");
  EXPECT_EQ(DriftPicture({}, 1e-5, "", Language::kEnglish), "");
  EXPECT_EQ(DriftPicture({{"a", "", unknown, unknown}}, 1e-5, "", Language::kEnglish), "");
  EXPECT_THAT(DriftPicture({{"a", "", 0, unknown}}, 0, "", Language::kEnglish), HasSubstr("<circle"));
}

}  // namespace
}  // namespace plinth
