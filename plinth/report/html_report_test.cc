#include "plinth/report/html_report.h"

#include <cmath>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "plinth/base/text.h"
#include "plinth/report/assets.h"

namespace plinth {
namespace {

const char kEvil[] = "</script><script>alert(1)</script>\u2028<img src=x onerror=y>\"'&{{facts}}";

SeriesView Series(std::string item, size_t past = 5) {
  SeriesView series;
  series.item = std::move(item);
  series.target = "flow";
  for (size_t i = 0; i < past; ++i) {
    series.history_time.ms.push_back(static_cast<int64_t>(i) * 1000);
    series.history_time.text.push_back(StrCat("t", i));
    series.history.push_back(i == 2 ? std::nan("") : 0.5 * static_cast<double>(i));
  }
  series.forecast_time = {{90000, 91000, 99000}, {"f0", "f1", "f2"}};
  series.quantiles = {{0.1, {1, 2, 3}}, {0.5, {2, 3, 4}}, {0.9, {3, 4, 5}}};
  series.mean = {2, 3, 4.25};
  return series;
}

ReportFacts Facts() {
  ReportFacts facts;
  facts.model = "plinth-ts-0";
  facts.data_file = "a/b/demand.csv";
  facts.horizon = 1234;
  facts.version = "0.1.0";
  return facts;
}

// The contents of every script element whose opening tag contains `mark`.
std::vector<std::string> Scripts(const std::string& page, std::string_view mark) {
  std::vector<std::string> found;
  for (size_t at = page.find("<script"); at != std::string::npos; at = page.find("<script", at)) {
    const size_t open = page.find('>', at), close = page.find("</script>", open);
    if (page.substr(at, open - at).find(mark) != std::string::npos) {
      found.push_back(page.substr(open + 1, close - open - 1));
    }
    at = close;
  }
  return found;
}

// Walks the tags outside scripts and styles and returns what is wrong with their nesting.
std::string Unbalanced(const std::string& page) {
  const std::vector<std::string> empty = {"meta", "link", "input", "br", "!DOCTYPE", "path"};
  std::vector<std::string> open;
  for (size_t at = page.find('<'); at != std::string::npos; at = page.find('<', at)) {
    const size_t end = page.find('>', at);
    if (end == std::string::npos) return "an open tag at the end";
    const bool closing = page[at + 1] == '/';
    const size_t from = at + 1 + (closing ? 1 : 0);
    const std::string name = page.substr(from, page.find_first_of(" >/\n", from) - from);
    at = end;
    if (std::find(empty.begin(), empty.end(), name) != empty.end()) continue;
    if (!closing) {
      open.push_back(name);
      if (name == "script" || name == "style") at = page.find("</" + name, end);
      continue;
    }
    if (open.empty() || open.back() != name)
      return StrCat("</", name, "> closes ", open.empty() ? "" : open.back());
    open.pop_back();
  }
  return open.empty() ? "" : StrCat("<", open.back(), "> stays open");
}

TEST(HtmlReport, IsBalancedAndCompleteInBothLanguages) {
  for (const Language language : {Language::kEnglish, Language::kChinese}) {
    HtmlOptions options;
    options.language = language;
    const std::string page = HtmlPage(Facts(), options, {Series("a"), Series(kEvil)}).value();
    EXPECT_EQ(Unbalanced(page), "");
    EXPECT_NE(page.find(StrCat("<html lang=\"", LanguageTag(language), "\">")), std::string::npos);
    EXPECT_NE(page.find(Text(language, Message::kUnprovenMeans)), std::string::npos);
    EXPECT_NE(page.find("1,234"), std::string::npos);
    EXPECT_NE(page.find("Permission is hereby granted"), std::string::npos);
    EXPECT_EQ(page.find("{{"), page.find("{{facts}}")) << "a part of the frame was not filled";
    EXPECT_EQ(page.find("sourceMappingURL"), std::string::npos);
    const auto strings = nlohmann::json::parse(Scripts(page, "id=\"strings\"").at(0));
    EXPECT_EQ(strings.size(), kPageMessages);
    EXPECT_EQ(strings["median"].get<std::string>(), Text(language, Message::kMedian));
  }
}

TEST(HtmlReport, EmbedsTheNumbers) {
  const std::string page = HtmlPage(Facts(), {}, {Series("a"), Series("b")}).value();
  const std::vector<std::string> blocks = Scripts(page, "class=\"series\"");
  ASSERT_EQ(blocks.size(), 2u);
  const auto series = nlohmann::json::parse(blocks[1]);
  EXPECT_EQ(series["history"].dump(), "[0,0.5,null,1.5,2]");
  EXPECT_EQ(series["total"], 5);
  EXPECT_EQ(series["mean"].dump(), "[2,3,4.25]");
  EXPECT_TRUE(series["actual"].is_null());
  EXPECT_EQ(series["quantiles"][2]["level"], 0.9);
  EXPECT_EQ(series["quantiles"][2]["values"].dump(), "[3,4,5]");
  // Both series share their two time axes; the second one's steps are uneven.
  const std::vector<std::string> times = Scripts(page, "id=\"time-");
  ASSERT_EQ(times.size(), 2u);
  const auto past = nlohmann::json::parse(times[0]), future = nlohmann::json::parse(times[1]);
  EXPECT_EQ(past["start"], 0);
  EXPECT_EQ(past["step"], 1000);
  EXPECT_EQ(past["count"], 5);
  EXPECT_EQ(past["text"][4], "t4");
  EXPECT_EQ(future["ms"].dump(), "[90000,91000,99000]");
}

TEST(HtmlReport, KeepsHostileTextAsText) {
  ReportFacts facts = Facts();
  facts.model = facts.data_file = facts.frequency = facts.created = facts.version = kEvil;
  facts.more = {{kEvil, kEvil}};
  SeriesView series = Series(kEvil);
  series.history_time.text[0] = kEvil;
  const std::string page = HtmlPage(facts, {}, {series}).value();
  EXPECT_EQ(Unbalanced(page), "");
  EXPECT_EQ(page.find("alert(1)</script>"), std::string::npos);
  EXPECT_EQ(page.find("<img"), std::string::npos);
  const auto times = nlohmann::json::parse(Scripts(page, "id=\"time-0\"").at(0));
  EXPECT_EQ(times["text"][0], kEvil);
  // Only data blocks and the two scripts of the policy.
  EXPECT_EQ(Scripts(page, "").size(), Scripts(page, "application/json").size() + 2);
}

TEST(HtmlReport, AllowsNoNetworkAndOnlyItsOwnScripts) {
  const std::string page = HtmlPage(Facts(), {}, {Series("a")}).value();
  const size_t policy =
      page.find("http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'sha256-");
  ASSERT_NE(policy, std::string::npos);
  const std::string content = page.substr(policy, page.find('>', policy) - policy);
  EXPECT_EQ(content.find("http:"), std::string::npos);
  EXPECT_EQ(content.find("'unsafe-eval'"), std::string::npos);
  EXPECT_EQ(page.find("src=\"http"), std::string::npos);
  EXPECT_EQ(page.find("href=\"http"), std::string::npos);
  // A script that contained its own end would be cut and no longer match its digest.
  EXPECT_EQ(DygraphsScript().find("</script"), std::string_view::npos);
  EXPECT_EQ(PageScript().find("</script"), std::string_view::npos);
  EXPECT_EQ(PageScript().find('\r'), std::string_view::npos);
}

TEST(HtmlReport, LimitsThePastAndSaysSo) {
  HtmlOptions options;
  options.max_past = 300;
  options.past_budget = 300;
  const std::string page = HtmlPage(Facts(), options, {Series("a", 1000), Series("b", 1000)}).value();
  const std::vector<std::string> blocks = Scripts(page, "class=\"series\"");
  const auto first = nlohmann::json::parse(blocks.at(0)), second = nlohmann::json::parse(blocks.at(1));
  EXPECT_EQ(first["history"].size(), 300u);
  EXPECT_EQ(first["history"][299], 499.5);
  EXPECT_EQ(first["total"], 1000);
  EXPECT_EQ(second["history"].size(), 120u) << "the budget is spent";
}

TEST(HtmlReport, TakesEmptyAndTinySeries) {
  SeriesView nothing;
  nothing.target = "empty";
  const std::string page = HtmlPage({}, {}, {nothing}).value();
  EXPECT_EQ(Unbalanced(page), "");
  EXPECT_EQ(nlohmann::json::parse(Scripts(page, "class=\"series\"").at(0))["history"].size(), 0u);
  EXPECT_EQ(Unbalanced(HtmlPage({}, {}, {}).value()), "");
}

TEST(HtmlReport, RefusesAnInconsistentSeriesAndGoesOn) {
  std::string page;
  HtmlReport report(Facts(), {}, [&page](std::string_view piece) {
    page += piece;
    return absl::OkStatus();
  });
  SeriesView bad = Series("bad");
  bad.mean.pop_back();
  const Status status = report.Add(bad);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(std::string(status.message()),
            "series \"bad · flow\": the mean has 2 values for 3 forecast steps");
  EXPECT_TRUE(report.Add(Series("good")).ok());
  EXPECT_TRUE(report.Finish().ok());
  EXPECT_EQ(Scripts(page, "class=\"series\"").size(), 1u);
}

TEST(HtmlReport, PassesOnTheFirstErrorOfTheSinkAndWritesNoMore) {
  // The page goes out in pieces; each may be the one that no longer fits on the disk.
  for (int fail_at = 1; fail_at <= 4; ++fail_at) {
    int calls = 0;
    HtmlReport report(Facts(), {}, [&](std::string_view) {
      return ++calls == fail_at ? absl::ResourceExhaustedError("disk full") : absl::OkStatus();
    });
    Status status = report.Add(Series("a"));
    if (status.ok()) status = report.Add(Series("b"));
    if (status.ok()) status = report.Finish();
    EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << fail_at;
    EXPECT_EQ(report.Finish().code(), absl::StatusCode::kResourceExhausted);
    EXPECT_EQ(calls, fail_at);
  }
}

TEST(HtmlReport, MemoryDoesNotGrowWithTheNumberOfSeries) {
  size_t written = 0, largest = 0;
  HtmlReport report(Facts(), {}, [&](std::string_view piece) {
    written += piece.size();
    if (written > 500'000) largest = std::max(largest, piece.size());
    return absl::OkStatus();
  });
  for (int i = 0; i < 3000; ++i) ASSERT_TRUE(report.Add(Series(StrCat("item ", i))).ok());
  EXPECT_GT(written, 500'000u);
  EXPECT_LT(largest, 2000u) << "a series is written when it is added";
}

}  // namespace
}  // namespace plinth
