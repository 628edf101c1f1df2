#include "plinth/report/markup.h"

#include <array>
#include <charconv>
#include <cmath>

#include "plinth/report/utf8.h"

namespace plinth {
namespace {

template <typename Number>
void AppendShortest(Number value, std::string* out) {
  std::array<char, 40> buffer;
  out->append(buffer.data(), std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr);
}

void AppendUnicodeEscape(char32_t code, std::string* out) {
  constexpr std::string_view kHex = "0123456789abcdef";
  *out += "\\u";
  for (int shift = 12; shift >= 0; shift -= 4) *out += kHex[(code >> shift) & 15];
}

}  // namespace

std::string EscapeHtml(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const size_t from = at;
    const char32_t code = NextCodePoint(text, &at);
    const bool control = (code < 0x20 && code != '\n' && code != '\t') || (code >= 0x7F && code < 0xA0);
    if (code == '&') {
      out += "&amp;";
    } else if (code == '<') {
      out += "&lt;";
    } else if (code == '>') {
      out += "&gt;";
    } else if (code == '"') {
      out += "&quot;";
    } else if (code == '\'') {
      out += "&#39;";
    } else if (control || code == kReplacement || Misleads(code)) {
      out += "\uFFFD";
    } else {
      out += text.substr(from, at - from);
    }
  }
  return out;
}

void AppendJsonString(std::string_view text, std::string* out) {
  *out += '"';
  for (size_t at = 0; at < text.size();) {
    const size_t from = at;
    const char32_t code = NextCodePoint(text, &at);
    if (code == '"' || code == '\\') {
      *out += '\\';
      *out += static_cast<char>(code);
    } else if (code < 0x20 || code == '<' || code == '>' || code == '&' || (code >= 0x7F && code < 0xA0) ||
               (Misleads(code) && code < 0x10000)) {
      AppendUnicodeEscape(code, out);
    } else if (code == kReplacement || Misleads(code)) {
      *out += "\uFFFD";
    } else {
      *out += text.substr(from, at - from);
    }
  }
  *out += '"';
}

void AppendJsonNumber(double value, std::string* out) {
  if (!std::isfinite(value)) {
    *out += "null";
    return;
  }
  // Beyond the float range the conversion would be undefined.
  const bool small = std::abs(value) < 1e30;
  if (const float single = small ? static_cast<float>(value) : 0.0f;
      small && static_cast<double>(single) == value && value != std::floor(value)) {
    AppendShortest(single, out);
  } else {
    AppendShortest(value, out);
  }
}

}  // namespace plinth
