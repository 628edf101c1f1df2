// Writes text and numbers of any origin into HTML and JSON so that they stay text and numbers.
#pragma once

#include <string>
#include <string_view>

namespace plinth {

// Safe as the content of an element and inside a quoted attribute. Malformed UTF-8 and control characters
// other than tab and newline become U+FFFD.
std::string EscapeHtml(std::string_view text);

// Appends a JSON string with its quotes; safe inside <script>, too: "<", ">", "&", U+2028 and U+2029 are
// written as \u escapes. Malformed UTF-8 becomes U+FFFD.
void AppendJsonString(std::string_view text, std::string* out);

// Appends the shortest number that reads back as the same double, or as the same float where the value is
// one and not whole (a forecast of 0.1f is 0.1, not 0.10000000149011612); null when it is not finite.
void AppendJsonNumber(double value, std::string* out);

}  // namespace plinth
