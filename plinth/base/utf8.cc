#include "plinth/base/utf8.h"

#include <cstdint>
#include <cstring>

namespace plinth {
namespace {

// Bytes of the sequence at `at`, 0 where there is no valid one. RFC 3629, section 4.
size_t Sequence(const unsigned char* at, size_t left) {
  const unsigned char lead = at[0];
  if (lead < 0x80) return 1;
  const size_t length = lead >= 0xC2 && lead <= 0xDF   ? 2
                        : lead >= 0xE0 && lead <= 0xEF ? 3
                        : lead >= 0xF0 && lead <= 0xF4 ? 4
                                                       : 0;
  if (length == 0 || left < length) return 0;
  const unsigned char low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  const unsigned char high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  if (at[1] < low || at[1] > high) return 0;
  for (size_t i = 2; i < length; ++i) {
    if ((at[i] & 0xC0) != 0x80) return 0;
  }
  return length;
}

}  // namespace

size_t Utf8Prefix(std::string_view text) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(text.data());
  size_t i = 0;
  while (i < text.size()) {
    // Eight plain ASCII bytes at a time.
    uint64_t word;
    if (text.size() - i >= 8 && (std::memcpy(&word, bytes + i, 8), (word & 0x8080808080808080u) == 0)) {
      i += 8;
      continue;
    }
    const size_t length = Sequence(bytes + i, text.size() - i);
    if (length == 0) return i;
    i += length;
  }
  return i;
}

}  // namespace plinth
