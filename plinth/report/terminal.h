// Decides what a terminal can show, and measures and cleans text for it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "plinth/report/languages.h"

namespace plinth {

enum class Glyphs { kAscii, kUnicode };
enum class Colors { kNone, kSixteen, kMany };

// What the surroundings say; a test makes its own.
struct TerminalFacts {
  bool is_terminal = false;
  int columns = 0;  // 0: unknown
  int rows = 0;
  // Environment variables; empty: not set.
  std::string term, colorterm, no_color, lc_all, lc_ctype, lang;
};

// Reads the facts of an open file descriptor and of the environment.
TerminalFacts ReadTerminal(int descriptor);

struct TerminalStyle {
  Glyphs glyphs = Glyphs::kAscii;
  Colors colors = Colors::kNone;
};

// Colours need a terminal, no NO_COLOR (https://no-color.org) and a TERM that is not "dumb". Unicode needs a
// UTF-8 locale (LC_ALL before LC_CTYPE before LANG) and a TERM other than "dumb" and "linux", whose console
// font has no Braille.
TerminalStyle StyleFor(const TerminalFacts& facts);

// The language of the same variables when it is one of ours.
Language LanguageFor(const TerminalFacts& facts);

// Replaces control characters (an item's name must not move the cursor), bidirectional overrides and
// malformed UTF-8 by U+FFFD; for ASCII everything outside 0x20..0x7E becomes "?".
std::string Printable(std::string_view text, Glyphs glyphs);

// Cells that `text` takes in a terminal: two for East Asian wide characters and emoji, none for combining
// marks (Unicode Standard Annex 11). The text must be printable.
int DisplayWidth(std::string_view text);

// Cuts the text to at most `width` cells, the last one being "…" ("~" in ASCII) when something was cut.
std::string CutToWidth(std::string_view text, int width, Glyphs glyphs);

}  // namespace plinth
