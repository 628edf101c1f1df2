// Sentences of the checks in the reader's language.
#include "plinth/report/sentences.h"

#include <gtest/gtest.h>

namespace plinth {
namespace {

std::string Chinese(std::string_view sentence) { return Said(Language::kChinese, sentence); }

TEST(Sentences, AreSaidInTheLanguageWithNamesAndNumbersInPlace) {
  EXPECT_EQ(Chinese("NaN on one side only at 3 places, first at 17"), "有 3 处仅一侧为 NaN，首个位于 17");
  EXPECT_EQ(Chinese("element 3 is nan, expected 1.5"), "元素 3 为 nan，应为 1.5");
  EXPECT_EQ(Said(Language::kEnglish, "the same bits"), "the same bits");
}

TEST(Sentences, WhatStandsInAPlaceIsSaidToo) {
  EXPECT_EQ(Chinese("rule 4: relative L2 0.1, at most 0.01 (2 x 0.005 of 5 runs)"),
            "规则 4：相对 L2 误差 0.1，至多 0.01（2 × 0.005，取自 5 次运行）");
  EXPECT_EQ(Chinese("repeat 3: one thread"), "第 3 次重复：单线程");
}

TEST(Sentences, PartsAreLookedUpByThemselves) {
  EXPECT_EQ(Chinese("the same bits; a forecast is not finite"), "逐位相同；预测值不是有限值");
  EXPECT_EQ(Chinese("encoder.block.1; the same bits"), "encoder.block.1；逐位相同");
  EXPECT_EQ(Chinese("softmax n17 y0 f32: 3 of 17 elements are outside; element 2 is off by 1 with limit 0.1, "
                    "expected 4"),
            "softmax n17 y0 f32：17 个元素中有 3 个超限；元素 2 偏差 1，限值 0.1，应为 4");
}

// The whole sentence is looked for before its parts.
TEST(Sentences, LongSentencesHoldSemicolons) {
  EXPECT_EQ(Chinese("run it by hand; what it would have told is left out"),
            "请手动运行；其本应提供的信息已略去");
}

TEST(Sentences, WhatIsNotKnownStays) {
  for (const char* text : {"", "encoder.block.3", "{0}", "a: b", "12", " is not asked", "rule : "}) {
    EXPECT_EQ(Chinese(text), text);
  }
}

}  // namespace
}  // namespace plinth
