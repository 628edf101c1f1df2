#include <charconv>
#include <cmath>

#include "plinth/base/check.h"
#include "plinth/formats/csv.h"

namespace plinth::formats {

void CsvWriter::Separate() {
  if (cells_++ > 0) *out_ += delimiter_;
}

void CsvWriter::Cell(std::string_view text) {
  Separate();
  if (text.empty()) return;
  empty_ = false;
  const bool quote = text.front() == ' ' || text.back() == ' ' || text.find(delimiter_) != text.npos ||
                     text.find_first_of("\"\r\n") != text.npos;
  if (!quote) {
    *out_ += text;
    return;
  }
  *out_ += '"';
  for (const char c : text) {
    if (c == '"') *out_ += '"';
    *out_ += c;
  }
  *out_ += '"';
}

template <typename T>
void CsvWriter::Shortest(T value) {
  Separate();
  empty_ = false;
  char text[32];
  out_->append(text, std::to_chars(text, text + sizeof(text), value).ptr);
}

void CsvWriter::Number(double value) {
  if (std::isnan(value)) return Cell("");
  Shortest(value);
}

void CsvWriter::Number(float value) {
  if (std::isnan(value)) return Cell("");
  Shortest(value);
}

void CsvWriter::Int(int64_t value) { Shortest(value); }

void CsvWriter::EndRow() {
  // A row of one empty cell would be a blank line, which readers skip.
  if (cells_ == 1 && empty_) *out_ += "\"\"";
  *out_ += '\n';
  cells_ = 0;
  empty_ = true;
}

}  // namespace plinth::formats
