// Streams CSV files row by row in bounded memory, and writes them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plinth/base/files.h"
#include "plinth/base/status.h"

namespace plinth::formats {

struct CsvLimits {
  int64_t record_bytes = 16 << 20;  // one row, line breaks inside quotes included
  int64_t columns = 100'000;
};

// What a cell holds when it is read as a number.
enum class CellKind { kNumber, kGap, kText, kInfinite, kTooLarge };
// Decimal, surrounding spaces ignored: full double precision, rounded to nearest; below the smallest
// double it is 0. Gaps are empty, NaN, null and NA in any case, and give NaN. Infinity is not a
// measurement and has its own kind. `comma` also takes one decimal comma in place of the point.
CellKind ParseNumber(std::string_view cell, bool comma, double* value);

// Reads RFC 4180 and what is common beside it: UTF-8 with or without byte order mark; comma, semicolon
// or tab, whichever the header has most of; \n or \r\n; quotes with doubled quotes and line breaks
// inside; spaces around quoted cells and column names. Blank lines are skipped; in a file of one
// column they are gaps, unless nothing follows. A header is needed and must not look like data.
// With semicolon or tab, "1,5" is one and a half; a file that also writes "1.5" is refused.
class CsvReader {
 public:
  // Reads the header. Errors: FileError, Cancelled; InvalidArgument: "PATH: line N: what is wrong".
  static StatusOr<CsvReader> Open(const std::string& path, const CsvLimits& limits = {});
  // The same for text in memory; `where` stands for the path.
  static StatusOr<CsvReader> FromText(std::string_view text, std::string where, const CsvLimits& limits = {});

  const std::vector<std::string>& header() const { return header_; }
  char delimiter() const { return delimiter_; }
  // Index of a column. Error: NotFound that lists the columns there are.
  StatusOr<int> Column(std::string_view name) const;

  // Goes to the next row; false at the end. Errors: as Open; a row with more or fewer cells than the
  // header; a file without any row. After an error the reader must not be used further.
  StatusOr<bool> Next();
  // The cells of the row, one per column; valid until the next call of Next.
  std::span<const std::string_view> row() const { return cells_; }
  // The line of the file where the row begins, from 1 (the header's, usually).
  int64_t line() const { return line_; }

  // A cell of the row as a number; a gap is NaN. Error: InvalidArgument with line, column and text.
  StatusOr<double> Number(int column);
  // InvalidArgument: PATH: line 7: column "time" is "abc"; WANTED is expected.
  Status Refuse(int column, std::string_view wanted) const;

  // For progress: bytes taken so far, and the file's size (0 for a pipe).
  int64_t bytes_read() const { return consumed_ + static_cast<int64_t>(begin_); }
  int64_t file_bytes() const { return file_bytes_; }
  const std::string& where() const { return where_; }

 private:
  CsvReader() = default;
  struct Record {
    char* begin;
    char* end;  // without the line break
    bool quoted;
  };
  Status Begin();
  Status ReadHeader();
  Status TakeNames();
  Status ChooseDelimiter(const Record& record);
  StatusOr<bool> Fill();
  StatusOr<bool> NextRecord(Record* record);
  StatusOr<bool> NextFilledRecord(Record* record);
  Status CheckBytes(const Record& record) const;
  Status TooManyCells() const;
  Status Split(const Record& record);
  Status SplitQuoted(const Record& record);
  StatusOr<bool> TakeRow(const Record& record);
  StatusOr<double> CommaNumber(int column, double value);
  Status Bad(std::string_view what) const;
  std::string ColumnName(size_t column) const;

  std::string where_;
  CsvLimits limits_;
  std::optional<InputFile> file_;  // none once all is in the buffer
  std::vector<char> buffer_;       // a vector: cells stay valid when the reader is moved
  size_t begin_ = 0;               // of the next record in the buffer
  size_t end_ = 0;                 // of what was read into the buffer
  int64_t consumed_ = 0;           // bytes that left the buffer
  int64_t file_bytes_ = 0;
  std::vector<std::string> header_;
  char delimiter_ = ',';
  std::vector<std::string_view> cells_;
  int64_t line_ = 0;       // of the current record
  int64_t next_line_ = 1;  // of the record after it
  bool any_row_ = false;
  // One column: blank lines to give as gaps, and the record after them.
  int64_t gaps_ = 0;
  std::optional<Record> held_;
  int64_t held_line_ = 0;
  // Lines that first wrote a decimal comma and a decimal point; 0 for none yet.
  int64_t comma_line_ = 0;
  int64_t point_line_ = 0;
};

// Appends rows to a string that the caller may empty between calls. RFC 4180 quoting, "\n" line ends,
// numbers the shortest that read back to the same value; NaN is an empty cell.
class CsvWriter {
 public:
  explicit CsvWriter(std::string* out, char delimiter = ',') : out_(out), delimiter_(delimiter) {}
  void Cell(std::string_view text);
  void Number(double value);
  void Number(float value);  // shortest for float: 0.1f is 0.1
  void Int(int64_t value);
  void EndRow();

 private:
  void Separate();
  template <typename T>
  void Shortest(T value);

  std::string* out_;
  char delimiter_;
  int64_t cells_ = 0;
  bool empty_ = true;  // the row has no byte but delimiters
};

}  // namespace plinth::formats
