#include "plinth/formats/csv.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <unordered_map>
#include <utility>

#include "plinth/base/utf8.h"
#include "plinth/formats/json.h"

namespace plinth::formats {
namespace {

constexpr size_t kBufferBytes = 256 << 10;

// The top bit of each of eight bytes that equals the byte which `pattern` repeats.
constexpr uint64_t kLow = 0x7f7f7f7f7f7f7f7fu;
constexpr uint64_t kOnes = 0x0101010101010101u;
uint64_t Equal(uint64_t word, uint64_t pattern) {
  const uint64_t x = word ^ pattern;
  return ~(((x & kLow) + kLow) | x | kLow);
}

bool Blank(const char* begin, const char* end) {
  return std::all_of(begin, end, [](char c) { return c == ' '; });
}

std::string_view Trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// A number, a gap or a time, as far as one cell can tell.
bool LooksLikeData(std::string_view cell) {
  double value;
  if (ParseNumber(cell, true, &value) != CellKind::kText) return true;
  return cell[0] >= '0' && cell[0] <= '9' && cell.find_first_not_of("0123456789-+:./TZ ") == cell.npos;
}

}  // namespace

Status CsvReader::Bad(std::string_view what) const {
  return absl::InvalidArgumentError(StrCat(where_, ": line ", line_, ": ", what));
}

std::string CsvReader::ColumnName(size_t column) const {
  if (column < header_.size() && !header_[column].empty()) {
    return StrCat("column ", QuotedShort(header_[column]));
  }
  return StrCat("column ", column + 1);
}

StatusOr<CsvReader> CsvReader::Open(const std::string& path, const CsvLimits& limits) {
  CsvReader reader;
  reader.where_ = path;
  reader.limits_ = limits;
  PLINTH_ASSIGN_OR_RETURN(reader.file_, InputFile::Open(path));
  reader.file_bytes_ = reader.file_->size();
  PLINTH_RETURN_IF_ERROR(reader.Begin());
  return reader;
}

StatusOr<CsvReader> CsvReader::FromText(std::string_view text, std::string where, const CsvLimits& limits) {
  CsvReader reader;
  reader.where_ = std::move(where);
  reader.limits_ = limits;
  reader.buffer_.reserve(text.size() + 1);  // never a null pointer, also for no text
  reader.buffer_.assign(text.begin(), text.end());
  reader.end_ = reader.buffer_.size();
  reader.file_bytes_ = static_cast<int64_t>(reader.end_);
  PLINTH_RETURN_IF_ERROR(reader.Begin());
  return reader;
}

StatusOr<int> CsvReader::Column(std::string_view name) const {
  const auto at = std::find(header_.begin(), header_.end(), name);
  if (at != header_.end()) return static_cast<int>(at - header_.begin());
  constexpr size_t kShown = 20;
  const std::vector<std::string> shown(
      header_.begin(), header_.begin() + static_cast<int64_t>(std::min(header_.size(), kShown)));
  const std::string more = header_.size() > kShown ? StrCat(" and ", header_.size() - kShown, " more") : "";
  return absl::NotFoundError(StrCat(where_, ": has no column ", QuotedShort(name), "; it has ",
                                    Join(shown, ", ", [](const std::string& s) { return QuotedShort(s); }),
                                    more));
}

Status CsvReader::Begin() {
  PLINTH_RETURN_IF_ERROR(Fill().status());
  const std::string_view start(buffer_.data(), std::min<size_t>(end_, 3));
  if (start.starts_with("\xff\xfe") || start.starts_with("\xfe\xff")) {
    return absl::InvalidArgumentError(StrCat(where_, ": is UTF-16; UTF-8 is expected"));
  }
  if (start == "\xef\xbb\xbf") begin_ = 3;
  return ReadHeader();
}

// Moves what is left to the front of the buffer and reads more behind it; false at the end of the file.
StatusOr<bool> CsvReader::Fill() {
  if (!file_.has_value()) return false;
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    consumed_ += static_cast<int64_t>(begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  // Twice what is there: a long record is then moved and scanned a bounded number of times.
  if (buffer_.size() < 2 * end_ || buffer_.empty()) buffer_.resize(std::max(kBufferBytes, 2 * end_));
  const size_t space = buffer_.size() - end_;
  PLINTH_ASSIGN_OR_RETURN(const size_t got, file_->Read(buffer_.data() + end_, space));
  end_ += got;
  if (got < space) file_.reset();
  return got > 0;
}

// Finds the next record: up to a line break with an even number of quotes before it.
StatusOr<bool> CsvReader::NextRecord(Record* record) {
  size_t scan = begin_;
  bool inside = false, quoted = false;
  line_ = next_line_;
  while (true) {
    char* const from = buffer_.data() + scan;
    char* stop = static_cast<char*>(std::memchr(from, '\n', end_ - scan));
    const bool broken = stop != nullptr;
    if (!broken) stop = buffer_.data() + end_;
    if (std::memchr(from, '"', static_cast<size_t>(stop - from)) != nullptr) {
      quoted = true;
      inside ^= (std::count(from, stop, '"') & 1) != 0;
    }
    if (stop - (buffer_.data() + begin_) > limits_.record_bytes) {
      return Bad(StrCat("is longer than ", limits_.record_bytes, " bytes",
                        inside ? "; a quote is opened and not closed" : ""));
    }
    scan = static_cast<size_t>(stop - buffer_.data()) + (broken ? 1 : 0);
    if (broken) ++next_line_;
    if (broken && inside) continue;
    if (!broken) {
      const size_t had = begin_;
      PLINTH_ASSIGN_OR_RETURN(const bool more, Fill());
      scan -= had - begin_;
      if (more) continue;
      if (begin_ == end_) return false;
      if (inside) return Bad("a quote is opened and not closed");
      stop = buffer_.data() + end_;
    }
    record->begin = buffer_.data() + begin_;
    record->end = stop;
    record->quoted = quoted;
    if (record->end > record->begin && record->end[-1] == '\r') --record->end;
    begin_ = scan;
    return true;
  }
}

StatusOr<bool> CsvReader::NextFilledRecord(Record* record) {
  while (true) {
    PLINTH_ASSIGN_OR_RETURN(const bool more, NextRecord(record));
    if (!more) return false;
    if (!Blank(record->begin, record->end)) return true;
    ++gaps_;
  }
}

// Explains what Split found suspicious.
Status CsvReader::CheckBytes(const Record& record) const {
  const std::string_view text(record.begin, static_cast<size_t>(record.end - record.begin));
  const auto column = [&](size_t at) {
    size_t before = 0;
    bool inside = false;
    for (const char c : text.substr(0, at)) {
      inside ^= c == '"';
      before += c == delimiter_ && !inside ? 1 : 0;
    }
    return ColumnName(before);
  };
  const size_t nul = text.find('\0');
  if (nul != text.npos) return Bad(StrCat(column(nul), " holds a zero byte; text is expected"));
  const size_t good = Utf8Prefix(text);
  if (good != text.size()) return Bad(StrCat(column(good), " holds bytes that are not UTF-8"));
  const size_t back = record.quoted ? text.npos : text.find('\r');
  if (back != text.npos) {
    return Bad(StrCat(column(back), " holds a carriage return; lines end with \\n or \\r\\n"));
  }
  return absl::OkStatus();
}

Status CsvReader::TooManyCells() const {
  return Bad(StrCat("has more than ", limits_.columns, " cells; a table of at most ", limits_.columns,
                    " columns is expected"));
}

Status CsvReader::Split(const Record& record) {
  const auto most = static_cast<size_t>(limits_.columns);
  cells_.clear();
  if (record.quoted) {
    PLINTH_RETURN_IF_ERROR(CheckBytes(record));
    return SplitQuoted(record);
  }
  const uint64_t delimiter = kOnes * static_cast<unsigned char>(delimiter_);
  uint64_t suspicious = 0;  // zero bytes, carriage returns, and bytes beyond ASCII
  const char* cell = record.begin;
  for (const char* at = record.begin; at < record.end; at += 8) {
    uint64_t word = kOnes * ' ';
    std::memcpy(&word, at, std::min<size_t>(8, static_cast<size_t>(record.end - at)));
    suspicious |= (word & ~kLow) | Equal(word, 0) | Equal(word, kOnes * '\r');
    for (uint64_t hits = Equal(word, delimiter); hits != 0; hits &= hits - 1) {
      const char* const stop = at + std::countr_zero(hits) / 8;
      if (cells_.size() == most) return TooManyCells();
      cells_.emplace_back(cell, static_cast<size_t>(stop - cell));
      cell = stop + 1;
    }
  }
  if (cells_.size() == most) return TooManyCells();
  cells_.emplace_back(cell, static_cast<size_t>(record.end - cell));
  return suspicious == 0 ? absl::OkStatus() : CheckBytes(record);
}

// Removes the quotes in place: a cell never grows.
Status CsvReader::SplitQuoted(const Record& record) {
  char* at = record.begin;
  char* const end = record.end;
  while (true) {
    if (cells_.size() == static_cast<size_t>(limits_.columns)) return TooManyCells();
    char* begin = at;
    while (begin != end && *begin == ' ') ++begin;
    if (begin == end || *begin != '"') {
      char* const stop = std::find(at, end, delimiter_);
      if (std::find(at, stop, '"') != stop) {
        return Bad(StrCat(ColumnName(cells_.size()),
                          " has a quote inside; quote the whole cell and double the quote"));
      }
      if (std::find(at, stop, '\r') != stop) {
        return Bad(
            StrCat(ColumnName(cells_.size()), " holds a carriage return; lines end with \\n or \\r\\n"));
      }
      cells_.emplace_back(at, static_cast<size_t>(stop - at));
      at = stop;
    } else {
      char* to = begin;
      for (at = begin + 1; at != end; ++at) {
        if (*at == '"' && (at + 1 == end || *++at != '"')) break;
        *to++ = *at;
      }
      // A quote that ends the record leaves `at` on itself, any other one behind itself.
      if (at != end && at + 1 == end && *at == '"') at = end;
      cells_.emplace_back(begin, static_cast<size_t>(to - begin));
      while (at != end && *at == ' ') ++at;
      if (at != end && *at != delimiter_) {
        return Bad(StrCat(ColumnName(cells_.size() - 1), " goes on after its closing quote"));
      }
    }
    if (at == end) return absl::OkStatus();
    ++at;
  }
}

Status CsvReader::ChooseDelimiter(const Record& record) {
  int64_t commas = 0, semicolons = 0, tabs = 0;
  bool inside = false;
  for (const char* at = record.begin; at != record.end; ++at) {
    inside ^= *at == '"';
    if (inside) continue;
    commas += *at == ',';
    semicolons += *at == ';';
    tabs += *at == '\t';
  }
  const int64_t most = std::max({commas, semicolons, tabs});
  if (most > 0 && (commas == most) + (semicolons == most) + (tabs == most) > 1) {
    return Bad(StrCat("the header has ", commas, " commas, ", semicolons, " semicolons and ", tabs,
                      " tabs outside quotes; one of them must be the most frequent"));
  }
  delimiter_ = tabs == most && most > 0 ? '\t' : semicolons == most && most > 0 ? ';' : ',';
  return absl::OkStatus();
}

Status CsvReader::ReadHeader() {
  Record record;
  PLINTH_ASSIGN_OR_RETURN(const bool found, NextFilledRecord(&record));
  gaps_ = 0;
  if (!found) {
    return absl::InvalidArgumentError(StrCat(where_, ": is empty; a header with column names is expected"));
  }
  PLINTH_RETURN_IF_ERROR(ChooseDelimiter(record));
  PLINTH_RETURN_IF_ERROR(Split(record));
  PLINTH_RETURN_IF_ERROR(TakeNames());
  cells_.clear();
  return absl::OkStatus();
}

Status CsvReader::TakeNames() {
  std::unordered_map<std::string_view, size_t> seen;
  bool data = true, counted = true;
  for (const std::string_view cell : cells_) {
    const std::string_view name = Trim(cell);
    data = data && !name.empty() && LooksLikeData(name);
    counted = counted && name == StrCat(header_.size());
    const auto [first, inserted] = seen.emplace(name, header_.size());
    if (!inserted) {
      return Bad(StrCat("columns ", first->second + 1, " and ", header_.size() + 1,
                        name.empty() ? " have no name" : StrCat(" are both named ", QuotedShort(name))));
    }
    header_.emplace_back(name);
  }
  // Some programs name columns 0, 1, 2, ...; everything else of the kind is a file without header,
  // whose first row would be lost.
  if (data && !counted) {
    return Bad(
        StrCat("begins with ", QuotedShort(cells_[0]), " like data; a header with column names is expected"));
  }
  return absl::OkStatus();
}

StatusOr<bool> CsvReader::TakeRow(const Record& record) {
  any_row_ = true;
  PLINTH_RETURN_IF_ERROR(Split(record));
  if (cells_.size() == header_.size()) return true;
  return Bad(StrCat("has ", cells_.size(), cells_.size() == 1 ? " cell" : " cells", "; the header has ",
                    header_.size()));
}

StatusOr<bool> CsvReader::Next() {
  if (!held_.has_value()) {
    Record record;
    gaps_ = 0;
    PLINTH_ASSIGN_OR_RETURN(const bool found, NextFilledRecord(&record));
    if (!found) {
      if (any_row_) return false;
      return absl::InvalidArgumentError(StrCat(where_, ": has a header but no row of data"));
    }
    if (gaps_ == 0 || header_.size() > 1) return TakeRow(record);
    held_ = record;
    held_line_ = line_;
  }
  if (gaps_ > 0) {
    line_ = held_line_ - gaps_--;
    cells_.assign(1, std::string_view());
    return true;
  }
  line_ = held_line_;
  const Record record = *std::exchange(held_, std::nullopt);
  return TakeRow(record);
}

Status CsvReader::Refuse(int column, std::string_view wanted) const {
  const auto at = static_cast<size_t>(column);
  return Bad(StrCat(ColumnName(at), " is ", QuotedShort(cells_[at]), "; ", wanted, " is expected"));
}

StatusOr<double> CsvReader::Number(int column) {
  double value;
  const CellKind kind = ParseNumber(cells_[static_cast<size_t>(column)], delimiter_ != ',', &value);
  if (kind == CellKind::kNumber && delimiter_ != ',') return CommaNumber(column, value);
  if (kind == CellKind::kNumber || kind == CellKind::kGap) return value;
  return Refuse(column, kind == CellKind::kInfinite   ? "a finite number or a gap (empty, NaN, null, NA)"
                        : kind == CellKind::kTooLarge ? "a number within the range of double"
                                                      : "a number or a gap (empty, NaN, null, NA)");
}

// Where the delimiter leaves the comma free, a file writes decimals with comma or with point, not both:
// otherwise one of them separates thousands.
StatusOr<double> CsvReader::CommaNumber(int column, double value) {
  const std::string_view cell = cells_[static_cast<size_t>(column)];
  if (comma_line_ == 0 && cell.find(',') != cell.npos) comma_line_ = line_;
  if (point_line_ == 0 && cell.find('.') != cell.npos) point_line_ = line_;
  if (comma_line_ == 0 || point_line_ == 0) return value;
  const bool comma = cell.find(',') != cell.npos;
  return Bad(StrCat(ColumnName(static_cast<size_t>(column)), " is ", QuotedShort(cell), ", but line ",
                    comma ? point_line_ : comma_line_, " writes decimals with a ", comma ? "point" : "comma",
                    "; one of the two is expected throughout"));
}

}  // namespace plinth::formats
