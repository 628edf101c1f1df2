#include "plinth/report/utf8.h"

#include <array>
#include <cstdint>

namespace plinth {

char32_t NextCodePoint(std::string_view text, size_t* at) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t lead = byte(*at);
  if (lead < 0x80) return text[(*at)++];
  const int extra = lead >= 0xF0 && lead < 0xF5   ? 3
                    : lead >= 0xE0 && lead < 0xF0 ? 2
                                                  : lead >= 0xC2 && lead < 0xE0;
  if (extra == 0 || *at + static_cast<size_t>(extra) >= text.size()) {
    ++*at;
    return kReplacement;
  }
  char32_t code = lead & (0x3F >> extra);
  for (int i = 1; i <= extra; ++i) {
    const uint8_t next = byte(*at + static_cast<size_t>(i));
    if ((next & 0xC0) != 0x80) {
      ++*at;
      return kReplacement;
    }
    code = (code << 6) | (next & 0x3F);
  }
  static constexpr std::array<char32_t, 4> kSmallest = {0, 0x80, 0x800, 0x10000};
  if (code < kSmallest[static_cast<size_t>(extra)] || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) {
    ++*at;
    return kReplacement;
  }
  *at += static_cast<size_t>(extra) + 1;
  return code;
}

bool Misleads(char32_t c) {
  return c == 0x061C || c == 0x200E || c == 0x200F || (c >= 0x2028 && c <= 0x202E) ||
         (c >= 0x2060 && c <= 0x206F) || c == 0xFEFF || (c >= 0xFFF9 && c <= 0xFFFC) || c >= 0xE0000;
}

}  // namespace plinth
