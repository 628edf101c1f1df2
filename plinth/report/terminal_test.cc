#include "plinth/report/terminal.h"

#include "gtest/gtest.h"

namespace plinth {
namespace {

TerminalFacts Usual() {
  TerminalFacts facts;
  facts.is_terminal = true;
  facts.term = "xterm-256color";
  facts.lang = "en_US.UTF-8";
  return facts;
}

TEST(Terminal, UsesWhatTheTerminalCan) {
  EXPECT_EQ(StyleFor(Usual()).glyphs, Glyphs::kUnicode);
  EXPECT_EQ(StyleFor(Usual()).colors, Colors::kMany);
  TerminalFacts facts = Usual();
  facts.term = "xterm";
  EXPECT_EQ(StyleFor(facts).colors, Colors::kSixteen);
  facts.colorterm = "truecolor";
  EXPECT_EQ(StyleFor(facts).colors, Colors::kMany);
  facts = Usual();
  facts.no_color = "yes";
  EXPECT_EQ(StyleFor(facts).colors, Colors::kNone);
  EXPECT_EQ(StyleFor(facts).glyphs, Glyphs::kUnicode);
  facts = Usual();
  facts.is_terminal = false;
  EXPECT_EQ(StyleFor(facts).colors, Colors::kNone);
}

TEST(Terminal, FallsBackToAscii) {
  TerminalFacts facts = Usual();
  facts.term = "dumb";
  EXPECT_EQ(StyleFor(facts).glyphs, Glyphs::kAscii);
  EXPECT_EQ(StyleFor(facts).colors, Colors::kNone);
  facts = Usual();
  facts.term = "linux";
  EXPECT_EQ(StyleFor(facts).glyphs, Glyphs::kAscii);
  EXPECT_EQ(StyleFor(facts).colors, Colors::kSixteen);
  facts = Usual();
  facts.lc_all = "POSIX";  // goes before LANG
  EXPECT_EQ(StyleFor(facts).glyphs, Glyphs::kAscii);
  facts.lc_all = "zh_CN.utf8";
  EXPECT_EQ(StyleFor(facts).glyphs, Glyphs::kUnicode);
  EXPECT_EQ(LanguageFor(facts), Language::kChinese);
  facts.lc_all = "C.UTF-8";
  EXPECT_EQ(LanguageFor(facts), Language::kEnglish);
  EXPECT_EQ(StyleFor(TerminalFacts()).glyphs, Glyphs::kAscii);
}

TEST(Terminal, DisarmsControlSequences) {
  EXPECT_EQ(Printable("a\x1b[31mb\n\x7f", Glyphs::kUnicode), "a\uFFFD[31mb\uFFFD\uFFFD");
  EXPECT_EQ(Printable("\xc2\x9b"
                      "31m",
                      Glyphs::kUnicode),
            "\uFFFD31m");                                          // the C1 form of ESC [
  EXPECT_EQ(Printable("a\u202eb", Glyphs::kUnicode), "a\uFFFDb");  // turns the text around
  EXPECT_EQ(Printable("变电站 é", Glyphs::kUnicode), "变电站 é");
  EXPECT_EQ(Printable("变é.", Glyphs::kAscii), "??.");
}

TEST(Terminal, ReplacesMalformedUtf8) {
  for (const char* bad :
       {"\xff", "\xc0\x80", "\xe4\xb8", "\xed\xa0\x80", "\xf5\x80\x80\x80", "\xf4\x90\x80\x80"}) {
    const std::string text = Printable(bad, Glyphs::kUnicode);
    EXPECT_EQ(text.substr(0, 3), "\uFFFD") << bad;
    EXPECT_EQ(text.size(), 3 * std::string(bad).size()) << "one replacement per byte";
  }
}

TEST(Terminal, MeasuresAndCuts) {
  EXPECT_EQ(DisplayWidth("abc"), 3);
  EXPECT_EQ(DisplayWidth("变电站"), 6);
  EXPECT_EQ(DisplayWidth("e\u0301"), 1);
  EXPECT_EQ(DisplayWidth("⠒░┤µ"), 4);
  EXPECT_EQ(CutToWidth("abcdef", 6, Glyphs::kUnicode), "abcdef");
  EXPECT_EQ(CutToWidth("abcdef", 4, Glyphs::kUnicode), "abc…");
  EXPECT_EQ(CutToWidth("abcdef", 4, Glyphs::kAscii), "abc~");
  EXPECT_EQ(CutToWidth("变电站", 4, Glyphs::kUnicode), "变…");
  EXPECT_EQ(CutToWidth("变电站", 0, Glyphs::kUnicode), "");
}

}  // namespace
}  // namespace plinth
