#include "plinth/base/pattern.h"

#include <gtest/gtest.h>

#include <string>

namespace plinth {
namespace {

TEST(Pattern, StarsStandForAnyText) {
  for (const auto matches : {MatchesStars, MatchesWildcards}) {
    EXPECT_TRUE(matches("*", ""));
    EXPECT_TRUE(matches("", ""));
    EXPECT_TRUE(matches("a.*.c", "a.b.b.c"));
    EXPECT_FALSE(matches("a.*.c", "a.c"));
    EXPECT_TRUE(matches("a*b*c", "a--b-b--c"));
    EXPECT_TRUE(matches("*ab", "aab"));
    EXPECT_TRUE(matches("a**", "a"));
    EXPECT_FALSE(matches("a", "ab"));
    EXPECT_FALSE(matches("ab", "a"));
    EXPECT_FALSE(matches("", "a"));
    EXPECT_TRUE(matches("*", "a*b"));
    // Patterns that backtrack without end in careless matchers.
    std::string pattern;
    for (int i = 0; i < 1000; ++i) pattern += "a*";
    EXPECT_FALSE(matches(pattern + "b", std::string(4000, 'a')));
  }
}

TEST(Pattern, QuestionMarksStandForOneByteWhereTheyAreWildcards) {
  EXPECT_TRUE(MatchesWildcards("layer.?.q", "layer.3.q"));
  EXPECT_FALSE(MatchesWildcards("layer.?.q", "layer.13.q"));
  EXPECT_FALSE(MatchesWildcards("?", ""));
  EXPECT_FALSE(MatchesStars("layer.?.q", "layer.3.q"));
  EXPECT_TRUE(MatchesStars("layer.?.q", "layer.?.q"));
}

}  // namespace
}  // namespace plinth
