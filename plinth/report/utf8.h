// Reads text of unknown origin as UTF-8.
#pragma once

#include <cstddef>
#include <string_view>

namespace plinth {

inline constexpr char32_t kReplacement = 0xFFFD;

// Reads the code point at *at (below the size) and moves on. Malformed bytes, surrogates and overlong forms
// give U+FFFD, one byte at a time.
char32_t NextCodePoint(std::string_view text, size_t* at);

// Characters that change how what follows them is shown, or are not seen at all: bidirectional controls
// (UAX 9), line and paragraph separators, the byte order mark, interlinear marks and tags. A name that holds
// one could show as another.
bool Misleads(char32_t code);

}  // namespace plinth
