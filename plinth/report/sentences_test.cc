// Sentences of the checks in the reader's language.
#include "plinth/report/sentences.h"

#include <gtest/gtest.h>

namespace plinth {
namespace {

std::string Chinese(std::string_view sentence) { return Said(Language::kChinese, sentence); }

TEST(Sentences, AreSaidInTheLanguageWithNamesAndNumbersInPlace) {
  EXPECT_EQ(Chinese("rule 2 (hard cap)"), "规则 2（硬上限）");
  EXPECT_EQ(Said(Language::kEnglish, "rule 2 (hard cap)"), "rule 2 (hard cap)");
}

TEST(Sentences, PartsAreLookedUpByThemselves) {
  EXPECT_EQ(Chinese("the same bits; the same bits"), "逐位相同；逐位相同");
  EXPECT_EQ(Chinese("encoder.block.1; the same bits"), "encoder.block.1；逐位相同");
}

TEST(Sentences, WhatIsNotKnownStays) {
  EXPECT_EQ(Chinese(""), "");
  EXPECT_EQ(Chinese("encoder.block.3"), "encoder.block.3");
  EXPECT_EQ(Chinese("{0}"), "{0}");
}

}  // namespace
}  // namespace plinth
