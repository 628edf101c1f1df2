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

// What a statement carries on of an earlier page.
TEST(Sentences, ThoseOfThePageAreKnownToo) {
  EXPECT_EQ(
      Chinese("layers: 11 of 90 checks failed; the first: normal.h60 quantiles f32: 471 of 540 elements are "
              "outside; element 322 is off by 1 with limit 2, expected 20"),
      "layers：90 项检查中有 11 项未通过；第一项：normal.h60 quantiles f32：540 个元素中有 471 个超限；元素 "
      "322 "
      "偏差 1，限值 2，应为 20");
  EXPECT_EQ(Chinese("3 windows from d.csv, horizon 24, season 48; digest ab"),
            "3 个窗口，取自 d.csv，预测步长 24，季节长度 48；摘要值 ab");
}

TEST(Sentences, PartsAreNotCutInParentheses) {
  EXPECT_EQ(
      Chinese(
          "rms_norm norm y0 f32: no truth (input 0 (x) was not recorded; capture the operator's inputs in "
          "full); differs from the incumbent on the same inputs: relative L2 0.689, limit 1e-05"),
      "rms_norm norm y0 f32：没有真值（输入 "
      "0（x）未记录；请完整捕获该算子的输入）；在相同输入上与原平台不同："
      "相对 L2 0.689，限值 1e-05");
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
