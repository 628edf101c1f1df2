#include "plinth/engine/series_file.h"

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "plinth/base/interrupt.h"
#include "plinth/formats/json.h"
#include "plinth/series/civil_time.h"
#include "plinth/series/timestamp.h"

namespace plinth::engine {
namespace {

constexpr size_t kSampleRows = 200;
constexpr int64_t kMostBytesInMemory = int64_t{1} << 30;

// Told by the majority of what is no gap.
ColumnHolds HoldsOf(const std::vector<std::string_view>& cells, bool comma) {
  int64_t numbers = 0, others = 0;
  for (const std::string_view cell : cells) {
    double value;
    const formats::CellKind kind = formats::ParseNumber(cell, comma, &value);
    numbers += kind == formats::CellKind::kNumber;
    others += kind != formats::CellKind::kNumber && kind != formats::CellKind::kGap;
  }
  if (numbers + others == 0) return ColumnHolds::kGaps;
  return numbers > others ? ColumnHolds::kNumbers : ColumnHolds::kText;
}

// How a message shows what a file holds: its columns, and its first row as an example.
std::string Contents(const formats::CsvReader& reader, const std::vector<std::vector<std::string>>& rows) {
  return StrCat("columns: ", formats::QuotedShort(Join(reader.header(), ", ")),
                "; first row: ", formats::QuotedShort(Join(rows[0], ", ")));
}

// Names the columns that are no targets because they hold nothing; of many, the first few.
std::string LeftOut(const std::vector<std::string>& columns) {
  constexpr size_t kShown = 5;
  std::vector<std::string> names;
  for (size_t i = 0; i < std::min(columns.size(), kShown); ++i) {
    names.push_back(formats::QuotedShort(columns[i]));
  }
  const std::string more = columns.size() > kShown ? StrCat(" and ", columns.size() - kShown, " more") : "";
  const bool one = columns.size() == 1;
  return StrCat(one ? "column " : "columns ", Join(names, ", "), more, one ? " holds" : " hold",
                " no value and ", one ? "is" : "are", " left out; name ", one ? "it" : "them",
                " with --target to keep ", one ? "it" : "them");
}

}  // namespace

std::vector<std::string_view> SeriesFile::Sample::Column(size_t column) const {
  std::vector<std::string_view> cells;
  for (const auto& row : rows) cells.push_back(row[column]);
  return cells;
}

std::string SeriesGroup::TimeText(int64_t k) const {
  if (numbered) return StrCat(k + 1);
  return series::FormatTime(series::Advance(origin, frequency, k), style);
}

int64_t SeriesGroup::TimeMs(int64_t k) const {
  if (numbered) return k + 1;
  const int64_t micros = series::Advance(origin, frequency, k).micros;
  return micros >= 0 ? micros / 1000 : -((-micros + 999) / 1000);
}

int64_t SeriesGroup::LastIndex() const {
  if (numbered) return std::numeric_limits<int64_t>::max();
  series::Timestamp end = origin;
  end.micros += series::kLastMicros - origin.local();
  return series::StepsUpTo(origin, frequency, end);
}

std::string SeriesGroup::FrequencyName() const { return numbered ? "1" : series::FrequencyText(frequency); }

int64_t SeriesGroup::DefaultSeason() const { return numbered ? 1 : series::DefaultSeason(frequency); }

StatusOr<SeriesFile> SeriesFile::Open(const std::string& path, const SeriesColumns& columns) {
  SeriesFile file;
  file.path_ = path == "-" ? "standard input" : path;
  file.columns_ = columns;
  if (columns.time == "none" && !(columns.time_format.empty() && columns.frequency.empty())) {
    return absl::InvalidArgumentError("--time none numbers the rows: leave out --time-format and --freq");
  }
  if (!columns.time_format.empty()) {
    PLINTH_ASSIGN_OR_RETURN(file.time_reader_, series::TimeReader::ForPattern(columns.time_format));
  }
  if (!columns.frequency.empty()) {
    auto frequency = series::ParseFrequency(columns.frequency);
    if (!frequency.ok()) return Prepend(frequency.status(), "--freq");
    file.frequency_ = *frequency;
  }
  PLINTH_ASSIGN_OR_RETURN(InputFile input, path == "-" ? InputFile::StandardInput() : InputFile::Open(path));
  if (input.size() == 0) {
    PLINTH_ASSIGN_OR_RETURN(file.text_, ReadAll(input, kMostBytesInMemory));
  }
  PLINTH_RETURN_IF_ERROR(file.FirstPass());
  PLINTH_ASSIGN_OR_RETURN(file.reader_, file.Reader());
  PLINTH_ASSIGN_OR_RETURN(file.has_row_, file.reader_->Next());
  if (!file.together_) PLINTH_RETURN_IF_ERROR(file.LoadAll());
  return file;
}

StatusOr<formats::CsvReader> SeriesFile::Reader() const {
  return text_ ? formats::CsvReader::FromText(*text_, path_) : formats::CsvReader::Open(path_);
}

Status SeriesFile::FirstPass() {
  PLINTH_ASSIGN_OR_RETURN(formats::CsvReader reader, Reader());
  Sample sample;
  ItemsSeen seen;
  bool columns_found = false;
  while (true) {
    PLINTH_ASSIGN_OR_RETURN(const bool more, reader.Next());
    if (more && sample.rows.size() < kSampleRows) {
      sample.rows.emplace_back(reader.row().begin(), reader.row().end());
      sample.lines.push_back(reader.line());
    } else if (more) {
      WatchUndecided(reader);
      if (item_column_ >= 0) SeeItem(reader.row()[static_cast<size_t>(item_column_)], &seen);
    }
    if (!columns_found && (!more || sample.rows.size() == kSampleRows)) {
      PLINTH_RETURN_IF_ERROR(FindColumns(reader, sample));
      columns_found = true;
      for (size_t r = 0; item_column_ >= 0 && r < sample.rows.size(); ++r) {
        SeeItem(sample.rows[r][static_cast<size_t>(item_column_)], &seen);
      }
    }
    if (columns_found && target_columns_.empty() && (undecided_.empty() || !more)) {
      PLINTH_RETURN_IF_ERROR(ChooseTargets(reader, sample));
    }
    if (!more) break;
    if (reader.line() % 4096 == 0) PLINTH_RETURN_IF_ERROR(CheckInterrupted());
  }
  items_ = item_column_ < 0 ? 1 : static_cast<int64_t>(seen.all.size());
  return absl::OkStatus();
}

// Counts items, and notices one that comes back after another.
void SeriesFile::SeeItem(std::string_view item, ItemsSeen* seen) {
  if (!seen->all.empty() && item == seen->current) return;
  seen->current = std::string(item);
  if (!seen->all.insert(seen->current).second) together_ = false;
}

Status SeriesFile::FindTimeColumn(const formats::CsvReader& reader, const Sample& sample) {
  if (columns_.time == "none") return absl::OkStatus();
  if (!columns_.time.empty()) {
    PLINTH_ASSIGN_OR_RETURN(time_column_, reader.Column(columns_.time));
    return absl::OkStatus();
  }
  std::vector<std::string> found;
  std::string spoken_for;
  for (size_t c = 0; c < reader.header().size(); ++c) {
    const std::string& name = reader.header()[c];
    const bool taken = name == columns_.item || std::find(columns_.targets.begin(), columns_.targets.end(),
                                                          name) != columns_.targets.end();
    const auto cells = sample.Column(c);
    bool time = false;
    if (columns_.time_format.empty()) {
      time = series::LooksLikeTime(cells);
    } else {
      series::TimeReader probe = time_reader_;
      time = !cells.empty() && probe.Read(cells[0]).ok();
    }
    if (taken && time) {
      spoken_for = name;
      continue;
    }
    if (!time) continue;
    found.push_back(name);
    time_column_ = static_cast<int>(c);
  }
  if (found.size() == 1) return absl::OkStatus();
  if (found.empty() && !spoken_for.empty()) {
    return absl::InvalidArgumentError(
        StrCat(path_, ": column ", formats::QuotedShort(spoken_for),
               " is the only one that reads as time, and --", spoken_for == columns_.item ? "item" : "target",
               " takes it; name other columns, or number the rows with --time none"));
  }
  if (found.empty()) return NoTimeColumn(reader, sample);
  return absl::InvalidArgumentError(
      StrCat(path_, ": columns ", Join(found, ", "), " all read as time; choose one with --time"));
}

// Says what keeps the nearest column from being one of time, or shows what there is.
Status SeriesFile::NoTimeColumn(const formats::CsvReader& reader, const Sample& sample) const {
  const bool pattern = !columns_.time_format.empty();
  for (size_t c = 0; c < reader.header().size(); ++c) {
    const auto cells = sample.Column(c);
    if (HoldsOf(cells, reader.delimiter() != ',') != ColumnHolds::kText) continue;
    series::TimeReader time = time_reader_;
    int64_t good = 0, bad = 0;
    Status first_bad;
    for (size_t r = 0; r < cells.size(); ++r) {
      const auto read = time.Read(cells[r]);
      if (read.ok()) ++good;
      if (read.ok() || bad++ > 0) continue;
      first_bad = Prepend(read.status(), StrCat(path_, ": line ", sample.lines[r], ": column ",
                                                formats::QuotedShort(reader.header()[c])));
    }
    if (pattern || (good > 0 && good >= bad)) return first_bad;
  }
  return absl::InvalidArgumentError(StrCat(path_, ": no column reads as time (",
                                           Contents(reader, sample.rows),
                                           "); name one with --time, give its pattern with --time-format, or "
                                           "number the rows with --time none"));
}

// A name may hold commas itself: what names a column as it stands is one name.
void SeriesFile::SplitTargets(const formats::CsvReader& reader) {
  std::vector<std::string> names;
  for (const std::string& text : columns_.targets) {
    size_t begin = 0;
    while (begin <= text.size()) {
      const bool whole = reader.Column(text).ok();
      const size_t comma = whole ? text.npos : text.find(',', begin);
      const size_t end = std::min(comma, text.size());
      names.push_back(text.substr(begin, end - begin));
      begin = end + 1;
    }
  }
  columns_.targets = std::move(names);
}

Status SeriesFile::FindColumns(const formats::CsvReader& reader, const Sample& sample) {
  SplitTargets(reader);
  PLINTH_RETURN_IF_ERROR(FindTimeColumn(reader, sample));
  if (!columns_.item.empty()) {
    PLINTH_ASSIGN_OR_RETURN(item_column_, reader.Column(columns_.item));
  }
  holds_.assign(reader.header().size(), ColumnHolds::kText);
  for (size_t c = 0; c < reader.header().size(); ++c) {
    const int column = static_cast<int>(c);
    if (column == time_column_ || column == item_column_) continue;
    holds_[c] = HoldsOf(sample.Column(c), reader.delimiter() != ',');
    if (holds_[c] == ColumnHolds::kText && text_column_.empty()) text_column_ = reader.header()[c];
    if (holds_[c] == ColumnHolds::kGaps && columns_.targets.empty()) undecided_.push_back(c);
  }
  return columns_.targets.empty() ? absl::OkStatus() : FindTargets(reader);
}

// Decides columns that held only gaps so far by the reader's row: what is no plain text is a number, or is
// refused as one when it is read.
void SeriesFile::WatchUndecided(const formats::CsvReader& reader) {
  std::erase_if(undecided_, [&](size_t column) {
    const std::string_view cell = reader.row()[column];
    double value;
    const formats::CellKind kind = cell.empty()
                                       ? formats::CellKind::kGap
                                       : formats::ParseNumber(cell, reader.delimiter() != ',', &value);
    if (kind == formats::CellKind::kGap) return false;
    if (kind == formats::CellKind::kText && text_column_.empty()) text_column_ = reader.header()[column];
    holds_[column] = kind == formats::CellKind::kText ? ColumnHolds::kText : ColumnHolds::kNumbers;
    return true;
  });
}

// Where no target is named: all columns of numbers; those of gaps alone only where there is no other.
Status SeriesFile::ChooseTargets(const formats::CsvReader& reader, const Sample& sample) {
  std::vector<std::string> gaps;
  for (size_t c = 0; c < reader.header().size(); ++c) {
    if (holds_[c] == ColumnHolds::kNumbers) columns_.targets.push_back(reader.header()[c]);
    if (holds_[c] == ColumnHolds::kGaps) gaps.push_back(reader.header()[c]);
  }
  if (columns_.targets.empty()) {
    columns_.targets = std::move(gaps);
  } else if (!gaps.empty()) {
    note_ = LeftOut(gaps);
  }
  if (columns_.targets.empty()) {
    return absl::InvalidArgumentError(
        StrCat(path_, ": no column holds numbers (", Contents(reader, sample.rows),
               "); numbers are written as 1234.5, or as 1234,5 between semicolons "
               "or tabs"));
  }
  return FindTargets(reader);
}

Status SeriesFile::FindTargets(const formats::CsvReader& reader) {
  for (const std::string& target : columns_.targets) {
    PLINTH_ASSIGN_OR_RETURN(const int column, reader.Column(target));
    if (column == time_column_ || column == item_column_) {
      return absl::InvalidArgumentError(StrCat(path_, ": column \"", target, "\" is the ",
                                               column == time_column_ ? "time" : "item",
                                               " column and cannot be a target too"));
    }
    if (std::find(target_columns_.begin(), target_columns_.end(), column) != target_columns_.end()) {
      return absl::InvalidArgumentError(StrCat("--target names column \"", target, "\" twice"));
    }
    target_columns_.push_back(column);
  }
  return absl::OkStatus();
}

// Takes the reader's current row.
Status SeriesFile::AddRow(Rows* rows) {
  formats::CsvReader& reader = *reader_;
  if (time_column_ >= 0) {
    auto time = time_reader_.Read(reader.row()[static_cast<size_t>(time_column_)]);
    if (!time.ok()) {
      return Prepend(time.status(), StrCat(path_, ": line ", reader.line(), ": column \"",
                                           reader.header()[static_cast<size_t>(time_column_)], "\""));
    }
    rows->times.push_back(*time);
    rows->lines.push_back(reader.line());
  }
  rows->values.resize(target_columns_.size());
  for (size_t t = 0; t < target_columns_.size(); ++t) {
    PLINTH_ASSIGN_OR_RETURN(const double value, reader.Number(target_columns_[t]));
    rows->values[t].push_back(value);
  }
  return absl::OkStatus();
}

// Reads the rows of one item that stand together; false at the end of the file.
StatusOr<bool> SeriesFile::ReadItem(Rows* rows) {
  *rows = {};
  if (!has_row_) return false;
  if (item_column_ >= 0) rows->item = std::string(reader_->row()[static_cast<size_t>(item_column_)]);
  while (has_row_) {
    if (item_column_ >= 0 && reader_->row()[static_cast<size_t>(item_column_)] != rows->item) break;
    PLINTH_RETURN_IF_ERROR(AddRow(rows));
    if (reader_->line() % 4096 == 0) PLINTH_RETURN_IF_ERROR(CheckInterrupted());
    PLINTH_ASSIGN_OR_RETURN(has_row_, reader_->Next());
  }
  return true;
}

Status SeriesFile::LoadAll() {
  std::unordered_map<std::string, size_t> index;
  while (has_row_) {
    const std::string item(reader_->row()[static_cast<size_t>(item_column_)]);
    const auto [at, fresh] = index.emplace(item, all_.size());
    if (fresh) {
      all_.emplace_back();
      all_.back().item = item;
    }
    PLINTH_RETURN_IF_ERROR(AddRow(&all_[at->second]));
    if (reader_->line() % 4096 == 0) PLINTH_RETURN_IF_ERROR(CheckInterrupted());
    PLINTH_ASSIGN_OR_RETURN(has_row_, reader_->Next());
  }
  return absl::OkStatus();
}

StatusOr<series::Inference> SeriesFile::Infer(const Rows& rows) const {
  const series::TimeStyle style = time_reader_.style();
  return series::InferFrequency({rows.times, &style, rows.lines});
}

// For an item of one row before any other: looks for the first item that has more.
StatusOr<series::Inference> SeriesFile::InferFromAny(const Rows& rows) {
  if (!together_) {
    const auto longer =
        std::find_if(all_.begin(), all_.end(), [](const Rows& other) { return other.times.size() > 1; });
    return Infer(longer == all_.end() ? rows : *longer);
  }
  PLINTH_ASSIGN_OR_RETURN(formats::CsvReader scan, Reader());
  PLINTH_ASSIGN_OR_RETURN(bool has_row, scan.Next());
  std::swap(*reader_, scan);
  std::swap(has_row_, has_row);
  Rows other;
  StatusOr<bool> more = true;
  while (more.ok() && *more && other.times.size() < 2) more = ReadItem(&other);
  std::swap(*reader_, scan);
  std::swap(has_row_, has_row);
  PLINTH_RETURN_IF_ERROR(more.status());
  return Infer(*more ? other : rows);
}

Status SeriesFile::ToGroup(const Rows& rows, SeriesGroup* group) {
  *group = {};
  group->item = rows.item;
  if (time_column_ < 0) {
    group->numbered = true;
    group->values = rows.values;
    return absl::OkStatus();
  }
  group->style = time_reader_.style();
  const series::TimeColumn column{rows.times, &group->style, rows.lines};
  if (columns_.frequency.empty() && (rows.times.size() > 1 || !frequency_)) {
    PLINTH_ASSIGN_OR_RETURN(const series::Inference inferred,
                            rows.times.size() > 1 ? Infer(rows) : InferFromAny(rows));
    frequency_ = inferred.frequency;
    if (rows.times.size() > 1) group->note = inferred.note;
  }
  PLINTH_ASSIGN_OR_RETURN(const series::Grid grid, series::PlaceOnGrid(column, *frequency_));
  group->origin = grid.origin;
  group->frequency = grid.frequency;
  for (const auto& values : rows.values) group->values.push_back(series::OnGrid(grid, values));
  return absl::OkStatus();
}

StatusOr<bool> SeriesFile::Next(SeriesGroup* group) {
  Rows rows;
  if (together_) {
    PLINTH_ASSIGN_OR_RETURN(const bool more, ReadItem(&rows));
    if (!more) return false;
  } else {
    if (next_ == all_.size()) return false;
    rows = std::move(all_[next_++]);
  }
  Status status = ToGroup(rows, group);
  if (status.ok()) return true;
  if (item_column_ >= 0) status = Prepend(status, StrCat("item \"", rows.item, "\""));
  std::string message(status.message());
  const size_t hint = message.find("(--item)");
  if (item_column_ < 0 && !text_column_.empty() && hint != message.npos) {
    message.replace(hint, 8, StrCat("(perhaps --item ", formats::QuotedShort(text_column_), ")"));
  }
  return Prepend(Status(status.code(), message), path_);
}

}  // namespace plinth::engine
