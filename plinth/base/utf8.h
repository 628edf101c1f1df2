// Checks that bytes are UTF-8.
#pragma once

#include <cstddef>
#include <string_view>

namespace plinth {

// Length of the longest prefix that is UTF-8 (RFC 3629: no surrogates, no overlong forms, nothing
// above U+10FFFF). Equal to text.size() where all of it is.
size_t Utf8Prefix(std::string_view text);

inline bool IsUtf8(std::string_view text) { return Utf8Prefix(text) == text.size(); }

}  // namespace plinth
