// Reads files with one JSON value per line, line by line, and says which line is wrong.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plinth/base/digest.h"
#include "plinth/base/files.h"
#include "plinth/base/status.h"
#include "plinth/formats/json.h"

namespace plinth::formats {

struct JsonLinesLimits {
  int64_t line_bytes = 64 << 20;
};

// UTF-8 with or without byte order mark, lines ended by \n or \r\n, blank lines skipped, the last line with
// or without its end. Memory: one line.
class JsonLinesReader {
 public:
  // Errors: FileError; InvalidArgument for a folder.
  static StatusOr<JsonLinesReader> Open(const std::string& path, const JsonLinesLimits& limits = {});
  // The same for text in memory; `where` stands for the path.
  static JsonLinesReader FromText(std::string_view text, std::string where,
                                  const JsonLinesLimits& limits = {});

  // Goes to the next line that is not blank; false at the end. Errors: as InputFile; InvalidArgument
  // "PATH: line N: ..." for a line beyond the limit and for UTF-16.
  StatusOr<bool> Next();
  // The line without its end; valid until the next call of Next.
  std::string_view text() const { return line_text_; }
  // Of the line, from 1.
  int64_t line() const { return line_; }
  const std::string& where() const { return where_; }
  // SHA-256 of all bytes that were read, in the same pass; call it once, after Next gave false. Errors:
  // Sha256.
  StatusOr<std::string> Digest() { return digest_.Hex(); }

  // Reads a line's text as JSON. Errors: InvalidArgument "PATH: line N: ...", as ParseJson.
  static StatusOr<JsonValue> Parse(std::string_view text, std::string_view where, int64_t line);
  StatusOr<JsonValue> Parse() const { return Parse(line_text_, where_, line_); }

 private:
  StatusOr<bool> Fill();
  StatusOr<bool> NextLine();

  std::string where_;
  JsonLinesLimits limits_;
  std::optional<InputFile> file_;  // none once all is in the buffer
  std::vector<char> buffer_;       // a vector: the line stays valid when the reader is moved
  size_t begin_ = 0, end_ = 0;     // what of the buffer was read and not yet given
  bool at_start_ = true;
  Sha256 digest_;
  std::string_view line_text_;
  int64_t line_ = 0;
};

}  // namespace plinth::formats
