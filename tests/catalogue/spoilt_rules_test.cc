// Spoils every number of the rule set, one at a time: the parser or the self-test must notice.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cctype>
#include <charconv>

#include "plinth/base/text.h"
#include "plinth/verify/rules.h"

namespace plinth::catalogue {
namespace {

// A number in the text: where it stands, and the line for messages.
struct Place {
  size_t begin, end;
  double value;
  std::string line;
};

std::vector<Place> NumbersOf(std::string_view text) {
  std::vector<Place> places;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = text.substr(begin, end - begin);
    // Values only: behind "=", before a comment, outside quotes.
    bool quoted = false, value = false;
    for (size_t i = 0; i < line.size() && !(line[i] == '#' && !quoted); ++i) {
      if (line[i] == '"') quoted = !quoted;
      if (quoted) continue;
      if (line[i] == '=') value = true;
      const bool starts = std::isdigit(line[i]) != 0 &&
                          (i == 0 || std::string_view(" [,").find(line[i - 1]) != std::string_view::npos);
      if (!value || !starts) continue;
      double number = 0;
      const auto [stop, error] = std::from_chars(line.data() + i, line.data() + line.size(), number);
      if (error != std::errc()) continue;
      const auto length = static_cast<size_t>(stop - line.data()) - i;
      places.push_back({begin + i, begin + i + length, number, std::string(line)});
      i += length;
    }
    begin = end + 1;
  }
  return places;
}

TEST(SpoiltRules, EveryNumberIsGuarded) {
  const std::string text(verify::RuleSet::BuiltinText());
  int64_t spoilt = 0;
  for (const Place& place : NumbersOf(text)) {
    if (place.line.starts_with("broken") || place.line.starts_with("holds") || place.value == 0) continue;
    std::string other = text;
    const bool whole =
        text.substr(place.begin, place.end - place.begin).find_first_of(".e") == std::string::npos;
    const double value = 1000 * place.value;
    other.replace(place.begin, place.end - place.begin,
                  whole ? StrCat(static_cast<int64_t>(value)) : StrCat(value));
    const auto rules = verify::RuleSet::Parse(other, "r.toml");
    ++spoilt;
    EXPECT_FALSE(rules.ok() && verify::SelfTest(*rules).empty())
        << place.line << ": " << place.value << " x 1000";
  }
  EXPECT_GT(spoilt, 110);
}

}  // namespace
}  // namespace plinth::catalogue
