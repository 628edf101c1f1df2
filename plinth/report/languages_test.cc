#include "plinth/report/languages.h"

#include <set>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plinth {
namespace {

std::multiset<std::string> Placeholders(std::string_view text) {
  std::multiset<std::string> found;
  for (size_t i = 0; i + 2 < text.size(); ++i) {
    if (text[i] == '{' && text[i + 2] == '}') found.insert(std::string(text.substr(i, 3)));
  }
  return found;
}

TEST(Languages, HaveTheSameKeysAndPlaceholders) {
  std::set<std::string_view> keys;
  for (size_t i = 0; i < static_cast<size_t>(Message::kCount); ++i) {
    const MessageRow& row = MessageAt(i);
    EXPECT_EQ(static_cast<size_t>(row.id), i) << row.key << " stands in the wrong row";
    EXPECT_TRUE(keys.insert(row.key).second) << row.key << " occurs twice";
    EXPECT_FALSE(row.english.empty()) << row.key;
    EXPECT_FALSE(row.chinese.empty()) << row.key;
    EXPECT_EQ(Placeholders(row.english), Placeholders(row.chinese)) << row.key;
  }
}

TEST(Languages, ChineseRowsAreChinese) {
  // Only rows that consist of placeholders and signs may have no Chinese character.
  for (size_t i = 0; i < static_cast<size_t>(Message::kCount); ++i) {
    const MessageRow& row = MessageAt(i);
    bool wide = false;
    for (const char c : row.chinese) wide |= static_cast<unsigned char>(c) >= 0xE4;
    if (row.chinese.find("{0} / {1}") == std::string_view::npos) {
      EXPECT_TRUE(wide) << row.key;
    }
  }
}

TEST(Languages, FillPlaceholders) {
  EXPECT_EQ(Text(Language::kEnglish, Message::kBand, {"80"}), "80 % band");
  EXPECT_EQ(Text(Language::kChinese, Message::kEarlierHidden, {"5", "9"}), "显示 9 个值中的最后 5 个");
  EXPECT_EQ(Text(Language::kEnglish, Message::kPosition, {"{1}"}), "{1} of {1}");
}

TEST(Languages, ParseNames) {
  EXPECT_EQ(ParseLanguage("en").value(), Language::kEnglish);
  EXPECT_EQ(ParseLanguage("zh").value(), Language::kChinese);
  EXPECT_EQ(ParseLanguage("ZH-cn").value(), Language::kChinese);
  EXPECT_EQ(ParseLanguage("zh_CN.UTF-8").value(), Language::kChinese);
  EXPECT_EQ(ParseLanguage("en_US.UTF-8").value(), Language::kEnglish);
  for (const char* name : {"", "e", "english", "de", "zhx"}) {
    const auto parsed = ParseLanguage(name);
    ASSERT_FALSE(parsed.ok()) << name;
    EXPECT_EQ(parsed.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(std::string(parsed.status().message()),
              "language \"" + std::string(name) + "\" is not known; use en or zh");
  }
}

}  // namespace
}  // namespace plinth
