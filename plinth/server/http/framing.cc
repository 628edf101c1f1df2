#include "plinth/server/http/framing.h"

#include <algorithm>

#include "plinth/base/text.h"

namespace plinth::server::http {
namespace {

bool IsChunked(std::string_view value) {
  constexpr std::string_view kChunked = "chunked";
  return std::equal(value.begin(), value.end(), kChunked.begin(), kChunked.end(),
                    [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a - 'A' + 'a' : a) == b; });
}

bool IsVisible(char c) { return c > 0x20 && c < 0x7f; }

}  // namespace

std::string CheckFraming(std::string_view header, std::string_view target, const Fields& fields, bool old) {
  for (size_t at = header.find('\n'); at != header.npos; at = header.find('\n', at + 1)) {
    if (at == 0 || header[at - 1] != '\r') return "a line of the header ends without CR";
    if (at + 1 < header.size() && (header[at + 1] == ' ' || header[at + 1] == '\t'))
      return "a field is continued on a second line";
  }
  if (!std::all_of(target.begin(), target.end(), IsVisible))
    return "the address has bytes that are no visible ASCII; write them as %XX";
  int lengths = 0, encodings = 0;
  for (const auto& [name, value] : fields) {
    if (name == "content-length") {
      ++lengths;
      const bool digits = !value.empty() && std::all_of(value.begin(), value.end(),
                                                        [](char c) { return c >= '0' && c <= '9'; });
      if (!digits) return "content-length is not one number";
    } else if (name == "transfer-encoding") {
      ++encodings;
      if (!IsChunked(value)) return "transfer-encoding is expected to be chunked alone";
    }
  }
  if (lengths > 1) return "content-length is given more than once";
  if (encodings > 1) return "transfer-encoding is given more than once";
  if (lengths + encodings > 1) return "both content-length and transfer-encoding are given";
  if (encodings > 0 && old) return "transfer-encoding is not part of HTTP/1.0";
  return {};
}

}  // namespace plinth::server::http
