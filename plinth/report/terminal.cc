#include "plinth/report/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <cstdlib>

#include "plinth/report/utf8.h"

namespace plinth {
namespace {

bool Unprintable(char32_t c) {
  return c < 0x20 || (c >= 0x7F && c < 0xA0) || (c >= 0x200B && c <= 0x200F) || Misleads(c);
}

struct Range {
  char32_t first, last;
};

bool InRanges(char32_t c, const Range* begin, const Range* end) {
  return std::any_of(begin, end, [c](const Range& r) { return c >= r.first && c <= r.last; });
}

int CodePointWidth(char32_t c) {
  // Blocks rather than single characters: enough for names in Chinese, Japanese and Korean.
  static constexpr Range kWide[] = {
      {0x1100, 0x115F},   {0x2E80, 0x303E},   {0x3041, 0x33FF},   {0x3400, 0x4DBF},
      {0x4E00, 0x9FFF},   {0xA000, 0xA4CF},   {0xA960, 0xA97F},   {0xAC00, 0xD7A3},
      {0xF900, 0xFAFF},   {0xFE30, 0xFE6F},   {0xFF00, 0xFF60},   {0xFFE0, 0xFFE6},
      {0x1F300, 0x1F64F}, {0x1F680, 0x1F6FF}, {0x1F900, 0x1F9FF}, {0x20000, 0x3FFFD}};
  static constexpr Range kNone[] = {{0x0300, 0x036F}, {0x1AB0, 0x1AFF}, {0x1DC0, 0x1DFF}, {0x20D0, 0x20FF},
                                    {0x3099, 0x309A}, {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F}};
  if (c < 0x300) return 1;
  if (InRanges(c, std::begin(kNone), std::end(kNone))) return 0;
  return InRanges(c, std::begin(kWide), std::end(kWide)) ? 2 : 1;
}

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// The locale that governs characters: the first variable that is set.
const std::string& CharacterLocale(const TerminalFacts& facts) {
  if (!facts.lc_all.empty()) return facts.lc_all;
  return facts.lc_ctype.empty() ? facts.lang : facts.lc_ctype;
}

std::string LettersAndDigits(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c))) {
      out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
  }
  return out;
}

}  // namespace

TerminalFacts ReadTerminal(int descriptor) {
  TerminalFacts facts;
  facts.is_terminal = isatty(descriptor) == 1;
  winsize size = {};
  if (facts.is_terminal && ioctl(descriptor, TIOCGWINSZ, &size) == 0) {
    facts.columns = size.ws_col;
    facts.rows = size.ws_row;
  }
  facts.term = Environment("TERM");
  facts.colorterm = Environment("COLORTERM");
  facts.no_color = Environment("NO_COLOR");
  facts.lc_all = Environment("LC_ALL");
  facts.lc_ctype = Environment("LC_CTYPE");
  facts.lang = Environment("LANG");
  return facts;
}

TerminalStyle StyleFor(const TerminalFacts& facts) {
  TerminalStyle style;
  const bool dumb = facts.term == "dumb";
  const bool utf8 = LettersAndDigits(CharacterLocale(facts)).find("utf8") != std::string::npos;
  if (utf8 && !dumb && facts.term != "linux") style.glyphs = Glyphs::kUnicode;
  if (facts.is_terminal && facts.no_color.empty() && !dumb && !facts.term.empty()) {
    const bool many = facts.term.find("256color") != std::string::npos || !facts.colorterm.empty();
    style.colors = many ? Colors::kMany : Colors::kSixteen;
  }
  return style;
}

Language LanguageFor(const TerminalFacts& facts) {
  return ParseLanguage(CharacterLocale(facts)).value_or(Language::kEnglish);
}

std::string Printable(std::string_view text, Glyphs glyphs) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t from = at;
    const char32_t code = NextCodePoint(text, &at);
    const bool bad = code == kReplacement || Unprintable(code);
    if (glyphs == Glyphs::kAscii) {
      out += bad || code > 0x7E ? '?' : static_cast<char>(code);
    } else {
      out += bad ? std::string_view("\uFFFD") : text.substr(from, at - from);
    }
  }
  return out;
}

int DisplayWidth(std::string_view text) {
  int width = 0;
  for (size_t at = 0; at < text.size();) width += CodePointWidth(NextCodePoint(text, &at));
  return width;
}

std::string CutToWidth(std::string_view text, int width, Glyphs glyphs) {
  if (DisplayWidth(text) <= width) return std::string(text);
  if (width <= 0) return "";
  size_t at = 0;
  for (int used = 0; at < text.size();) {
    size_t next = at;
    used += CodePointWidth(NextCodePoint(text, &next));
    if (used > width - 1) break;
    at = next;
  }
  return std::string(text.substr(0, at)) + (glyphs == Glyphs::kAscii ? "~" : "…");
}

}  // namespace plinth
