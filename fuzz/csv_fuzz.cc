// Feeds texts to the CSV reader; the rows it accepts must survive being written and read again.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "plinth/base/check.h"
#include "plinth/formats/csv.h"

namespace {

using namespace plinth::formats;
using Rows = std::vector<std::vector<std::string>>;

constexpr CsvLimits kLimits = {.record_bytes = 4096, .columns = 64};

// False when the text is refused.
bool ReadAll(std::string_view text, Rows* rows) {
  auto reader = CsvReader::FromText(text, "F", kLimits);
  if (!reader.ok()) return false;
  int64_t line = 0;
  while (true) {
    const auto more = reader->Next();
    if (!more.ok()) return false;
    if (!*more) return true;
    PLINTH_CHECK_EQ(reader->row().size(), reader->header().size());
    PLINTH_CHECK_LT(line, reader->line());
    line = reader->line();
    rows->emplace_back(reader->row().begin(), reader->row().end());
    for (size_t c = 0; c < reader->row().size(); ++c) {
      const auto number = reader->Number(static_cast<int>(c));
      if (number.ok()) PLINTH_CHECK(!std::isinf(*number));
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Rows rows;
  if (!ReadAll({reinterpret_cast<const char*>(data), size}, &rows)) return 0;
  std::string text;
  CsvWriter csv(&text);
  for (size_t c = 0; c < rows[0].size(); ++c) csv.Cell(plinth::StrCat("column", c));
  csv.EndRow();
  size_t longest = 0;
  for (const auto& row : rows) {
    const size_t before = text.size();
    for (const auto& cell : row) csv.Cell(cell);
    csv.EndRow();
    longest = std::max(longest, text.size() - before);
  }
  // Doubled quotes may make a row longer than it was.
  if (longest > 4096) return 0;
  Rows again;
  PLINTH_CHECK(ReadAll(text, &again));
  PLINTH_CHECK(again == rows);
  return 0;
}
