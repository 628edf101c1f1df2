#include "plinth/server/dashboard/assets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <regex>
#include <set>

#include "plinth/base/text.h"
#include "plinth/formats/json.h"

namespace plinth::server {
namespace {

using Table = std::map<std::string, std::string>;

std::string Text(std::string_view name) {
  const Asset* asset = FindAsset(name);
  EXPECT_NE(asset, nullptr) << name;
  return asset == nullptr ? "" : std::string(asset->bytes);
}

Table Language(const std::string& name) {
  const auto root = formats::ParseJson(Text("strings.json"), "strings.json");
  EXPECT_TRUE(root.ok()) << root.status();
  Table table;
  for (const auto& [key, value] : *root->Find(name)->object()) table[key] = *value.text();
  return table;
}

std::set<std::string> Matches(const std::string& text, const std::string& pattern) {
  const std::regex regex(pattern);
  std::set<std::string> found;
  for (auto at = std::sregex_iterator(text.begin(), text.end(), regex); at != std::sregex_iterator(); ++at)
    found.insert((*at)[1].str());
  return found;
}

bool HasChinese(const std::string& text) {
  // U+4E00 to U+9FFF begin with E4 to E9 in UTF-8.
  return std::any_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= 0xe4 && byte <= 0xe9;
  });
}

TEST(DashboardAssets, BothLanguagesAreComplete) {
  const Table en = Language("en"), zh = Language("zh");
  // Names of units and layouts that read the same in both.
  const std::set<std::string> alike = {"language",        "language_label", "queue_of",   "facts_model",
                                       "acknowledged_by", "answer_more",    "engine_more"};
  for (const auto& [key, text] : en) {
    EXPECT_FALSE(text.empty()) << key;
    ASSERT_TRUE(zh.count(key)) << key << " has no Chinese";
    EXPECT_EQ(Matches(text, "(\\{\\d\\})"), Matches(zh.at(key), "(\\{\\d\\})")) << key;
    if (alike.count(key) == 0) {
      EXPECT_TRUE(HasChinese(zh.at(key))) << key << ": " << zh.at(key);
      EXPECT_FALSE(HasChinese(text)) << key << ": " << text;
    }
  }
  EXPECT_EQ(en.size(), zh.size());
}

TEST(DashboardAssets, EveryTextThatIsAskedForIsThereAndUsed) {
  const Table en = Language("en");
  const std::string page = Text("index.html"), script = Text("page.js");
  std::set<std::string> asked = Matches(page, "data-say=\"([a-z_0-9]+)\"");
  for (const std::string& key : Matches(script, "say\\('([a-z_0-9]+)'[,)]")) asked.insert(key);
  for (const std::string& key : Matches(script, "'(reason_[a-z_]+)'")) asked.insert(key);
  for (const std::string& key : asked) EXPECT_TRUE(en.count(key)) << key;
  // Those that are put together: say('priority_' + ...).
  const std::set<std::string> stems = Matches(script, "say\\('([a-z_]+_)' \\+");
  for (const auto& [key, text] : en) {
    const bool stem =
        std::any_of(stems.begin(), stems.end(), [&](const std::string& s) { return key.starts_with(s); });
    const bool kind = key == "wrong" || key == "refused" || key == "failed" || key == "device" ||
                      key == "aliases" || key == "loaded" || key == "weights" || key == "work_memory" ||
                      key == "bounds";
    EXPECT_TRUE(asked.count(key) || stem || kind) << key << " is asked for nowhere";
  }
  for (const char* const state : {"proven", "unproven", "stale", "failed"}) {
    EXPECT_TRUE(en.count(StrCat("evidence_", state)));
    EXPECT_TRUE(en.count(StrCat("means_", state)));
  }
}

TEST(DashboardAssets, NothingStandsInlineAndNothingComesFromElsewhere) {
  const std::string page = Text("index.html");
  EXPECT_THAT(page, testing::Not(testing::HasSubstr("style=")));
  EXPECT_THAT(page, testing::Not(testing::HasSubstr("<style")));
  EXPECT_THAT(page, testing::Not(testing::ContainsRegex("<script[^>]*>[^<]")));
  EXPECT_THAT(page, testing::Not(testing::ContainsRegex(" on[a-z]+=")));
  for (const char* const name : {"index.html", "page.js", "chart.js", "page.css"}) {
    for (const std::string& address : Matches(Text(name), "(https?://[^'\" )]+)"))
      EXPECT_EQ(address, "http://www.w3.org/2000/svg") << name;
  }
  for (const char* const markup :
       {"innerHTML", "outerHTML =", "insertAdjacentHTML", "document.write", "eval("}) {
    EXPECT_THAT(Text("page.js"), testing::Not(testing::HasSubstr(markup)));
    EXPECT_THAT(Text("chart.js"), testing::Not(testing::HasSubstr(markup)));
  }
  for (const Asset& asset : DashboardAssets())
    EXPECT_EQ(asset.bytes.find("sourceMappingURL"), asset.bytes.npos) << asset.name;
}

TEST(DashboardAssets, EveryFileThatThePageAsksForIsThere) {
  std::set<std::string> asked = Matches(Text("index.html"), "\"/assets/([^\"]+)\"");
  for (const std::string& name : Matches(Text("page.js"), "'/assets/([^']+)'")) asked.insert(name);
  EXPECT_GE(asked.size(), 7u);
  for (const std::string& name : asked) EXPECT_NE(FindAsset(name), nullptr) << name;
  EXPECT_EQ(FindAsset("../page.js"), nullptr);
  EXPECT_EQ(FindAsset(""), nullptr);
}

TEST(DashboardAssets, TagsTellFilesApart) {
  std::set<std::string> tags;
  for (const Asset& asset : DashboardAssets()) {
    EXPECT_TRUE(tags.insert(asset.etag).second) << asset.name;
    EXPECT_THAT(asset.etag, testing::MatchesRegex("\"[0-9a-f]+\""));
  }
}

}  // namespace
}  // namespace plinth::server
