// Reads series from a CSV file one item at a time, each on a regular grid with gaps as NaN.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "plinth/formats/csv.h"
#include "plinth/series/frequency.h"
#include "plinth/series/time_axis.h"

namespace plinth::engine {

// Which columns of the file mean what.
struct SeriesColumns {
  std::string time;                  // empty: the only column of time stamps; "none": rows are numbered
  std::string time_format;           // a pattern (series/time_pattern.h); empty: ISO 8601 or epoch
  std::string item;                  // empty: the file holds one item
  std::vector<std::string> targets;  // names, or lists of them with commas; empty: all that hold numbers
  std::string frequency;             // empty: from the stamps
};

// What the cells of a column are, gaps aside.
enum class ColumnHolds { kGaps, kNumbers, kText };

// All targets of one item on one grid.
struct SeriesGroup {
  std::string item;
  std::vector<std::vector<double>> values;  // by target, of equal length, oldest first
  bool numbered = false;                    // no time column: index k is row k + 1
  series::Timestamp origin;
  series::Frequency frequency;
  series::TimeStyle style;
  std::string note;  // one sentence worth showing, or empty

  int64_t length() const { return values.empty() ? 0 : static_cast<int64_t>(values[0].size()); }
  // The time at index k of the grid, as the file would write it; also beyond the end.
  std::string TimeText(int64_t k) const;
  // Milliseconds since 1970 at index k; the row number where rows are numbered.
  int64_t TimeMs(int64_t k) const;
  // The last index whose time lies before the year 10000; TimeText and TimeMs stand still beyond it.
  int64_t LastIndex() const;
  std::string FrequencyName() const;  // "30min"; "1" where rows are numbered
  int64_t DefaultSeason() const;      // 1 where rows are numbered
};

// A file is read twice: the first pass finds the columns, counts the items and sees whether the rows of each
// item stand together. If they do, only one item is in memory at a time; else all are. What is no regular
// file (a pipe; "-" is standard input) is read into memory first, up to 1 GiB. The first 200 rows tell what a
// column holds; a column of gaps there is told by its first cell that is none, and one of gaps throughout is
// a target only if it is named or there is no other. An item of one row has the frequency of the item before
// it, or else of the first item that shows one.
class SeriesFile {
 public:
  // Errors: InvalidArgument and NotFound with file, row and column, and what would be right.
  static StatusOr<SeriesFile> Open(const std::string& path, const SeriesColumns& columns);

  const std::string& path() const { return path_; }
  const std::vector<std::string>& targets() const { return columns_.targets; }
  int64_t items() const { return items_; }
  // One sentence on columns that were left out because they hold no value, or empty.
  const std::string& note() const { return note_; }

  // Reads the next item; false at the end. Errors: as Open.
  StatusOr<bool> Next(SeriesGroup* group);

 private:
  // One item's rows in file order.
  struct Rows {
    std::string item;
    std::vector<series::Timestamp> times;
    std::vector<int64_t> lines;
    std::vector<std::vector<double>> values;  // by target
  };
  // The first rows, from which columns are told.
  struct Sample {
    std::vector<std::vector<std::string>> rows;
    std::vector<int64_t> lines;
    std::vector<std::string_view> Column(size_t column) const;
  };
  // Items that the first pass has met.
  struct ItemsSeen {
    std::unordered_set<std::string> all;
    std::string current;
  };
  SeriesFile() = default;
  StatusOr<formats::CsvReader> Reader() const;
  void SplitTargets(const formats::CsvReader& reader);
  Status FindColumns(const formats::CsvReader& reader, const Sample& sample);
  Status FindTimeColumn(const formats::CsvReader& reader, const Sample& sample);
  Status NoTimeColumn(const formats::CsvReader& reader, const Sample& sample) const;
  void WatchUndecided(const formats::CsvReader& reader);
  Status ChooseTargets(const formats::CsvReader& reader, const Sample& sample);
  Status FindTargets(const formats::CsvReader& reader);
  void SeeItem(std::string_view item, ItemsSeen* seen);
  Status FirstPass();
  StatusOr<series::Inference> Infer(const Rows& rows) const;
  StatusOr<series::Inference> InferFromAny(const Rows& rows);
  Status AddRow(Rows* rows);
  StatusOr<bool> ReadItem(Rows* rows);
  Status LoadAll();
  Status ToGroup(const Rows& rows, SeriesGroup* group);

  std::string path_;
  std::optional<std::string> text_;  // all of what is no regular file
  SeriesColumns columns_;
  int time_column_ = -1, item_column_ = -1;
  std::vector<int> target_columns_;
  std::vector<ColumnHolds> holds_;  // by column; kText for time and item
  std::vector<size_t> undecided_;   // columns of gaps alone so far that may become targets
  std::string note_;
  std::string text_column_;  // one that might name items, for a hint
  int64_t items_ = 0;
  bool together_ = true;
  std::optional<formats::CsvReader> reader_;
  bool has_row_ = false;  // the reader stands on a row that is not taken yet
  series::TimeReader time_reader_;
  std::optional<series::Frequency> frequency_;  // given, or that of the item before
  std::vector<Rows> all_;                       // where items are mixed
  size_t next_ = 0;
};

}  // namespace plinth::engine
