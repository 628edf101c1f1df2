// Reads text of unknown origin as UTF-8.
#pragma once

#include <cstddef>
#include <string_view>

namespace plinth {

inline constexpr char32_t kReplacement = 0xFFFD;

// Reads the code point at *at (below the size) and moves on. Malformed bytes, surrogates and overlong forms
// give U+FFFD, one byte at a time.
char32_t NextCodePoint(std::string_view text, size_t* at);

}  // namespace plinth
