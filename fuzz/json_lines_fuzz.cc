// Feeds texts to the reader of JSON lines; every line that it gives lies in the text and in its limit.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "plinth/base/check.h"
#include "plinth/formats/json_lines.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using plinth::formats::JsonLinesReader;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  auto reader = JsonLinesReader::FromText(text, "F", {.line_bytes = 1024});
  int64_t line = 0;
  size_t bytes = 0;
  while (true) {
    const auto more = reader.Next();
    if (!more.ok() || !*more) break;
    PLINTH_CHECK_LT(line, reader.line());
    line = reader.line();
    PLINTH_CHECK_LE(reader.text().size(), size_t{1024});
    PLINTH_CHECK(reader.text().find('\n') == std::string_view::npos);
    bytes += reader.text().size();
    PLINTH_CHECK_LE(bytes, size);
    const auto value = reader.Parse();
    if (!value.ok()) PLINTH_CHECK(value.status().message().find(plinth::StrCat("F: line ", line)) == 0);
  }
  return 0;
}
