#include "plinth/evidence/text_fields.h"

#include <charconv>

namespace plinth::evidence {

std::string_view Trim(std::string_view text) {
  constexpr std::string_view kSpace(" \t\r\n\v\f\0", 7);
  const size_t first = text.find_first_not_of(kSpace);
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

std::vector<std::string_view> Lines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.push_back(line);
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
  }
  return lines;
}

std::vector<std::string_view> Words(std::string_view text, std::string_view separators) {
  std::vector<std::string_view> words;
  while (true) {
    const size_t first = text.find_first_not_of(separators);
    if (first == text.npos) return words;
    text.remove_prefix(first);
    const size_t end = text.find_first_of(separators);
    words.push_back(text.substr(0, end));
    if (end == text.npos) return words;
    text.remove_prefix(end);
  }
}

std::string_view Field(std::string_view text, std::string_view key, char separator) {
  for (const std::string_view line : Lines(text)) {
    const size_t at = line.find(separator);
    if (at != line.npos && Trim(line.substr(0, at)) == key) return Trim(line.substr(at + 1));
  }
  return {};
}

std::optional<int64_t> ToInteger(std::string_view text, int base) {
  text = Trim(text);
  if (base == 16 && (text.starts_with("0x") || text.starts_with("0X"))) text.remove_prefix(2);
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string FirstLine(std::string_view text) {
  constexpr size_t kMost = 200;
  text = Trim(text);
  std::string line(text.substr(0, std::min(text.find_first_of("\r\n"), kMost)));
  for (char& c : line) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return line;
}

std::string VersionAfter(std::string_view text, std::string_view after) {
  constexpr std::string_view kDigits = "0123456789";
  const size_t at = text.find(after);
  if (at == text.npos) return "";
  text.remove_prefix(at + after.size());
  const size_t first = text.find_first_of(kDigits);
  if (first == text.npos) return "";
  text.remove_prefix(first);
  text = text.substr(0, text.find_first_not_of("0123456789."));
  while (text.ends_with('.')) text.remove_suffix(1);
  return std::string(text);
}

}  // namespace plinth::evidence
