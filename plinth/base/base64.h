// Encodes bytes as base64 (RFC 4648, section 4) and reads it back, each text having one spelling only.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace plinth {

// With padding, without line breaks.
std::string Base64(std::string_view bytes);

// What Base64 would give for some bytes, and those bytes; nothing for any other text: another alphabet,
// spaces, missing or excess padding, bits set beyond the last byte. Two texts never stand for the same bytes.
std::optional<std::string> FromBase64(std::string_view text);

}  // namespace plinth
