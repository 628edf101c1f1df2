// Takes apart the small text files of a system: lines, words, "key : value".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace plinth::evidence {

// Without white space at both ends.
std::string_view Trim(std::string_view text);
// Without the line ends; a last line without one counts.
std::vector<std::string_view> Lines(std::string_view text);
// What white space (or `separators`) separates; empty pieces are left out.
std::vector<std::string_view> Words(std::string_view text, std::string_view separators = " \t\r\n");
// The value of the first line "key SEPARATOR value", both trimmed; empty where there is none.
std::string_view Field(std::string_view text, std::string_view key, char separator = ':');
// All of the text as a number in base 10, or 16 with or without "0x"; nothing where it is not one.
std::optional<int64_t> ToInteger(std::string_view text, int base = 10);
// The first line, trimmed, cut after 200 bytes, control characters as '?': what may stand as a value.
std::string FirstLine(std::string_view text);
// The longest piece of digits and dots at the first digit of the text that follows `after` (the whole text
// where `after` is empty): "25.04.4" of "dtk-25.04.4/". Empty where there is none.
std::string VersionAfter(std::string_view text, std::string_view after);

}  // namespace plinth::evidence
