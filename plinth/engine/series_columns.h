// Finds out which columns of a series file mean what.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "plinth/formats/csv.h"
#include "plinth/series/timestamp.h"

namespace plinth::engine {

// What the user says about the columns. Lists hold names, or lists of them with commas.
struct SeriesColumns {
  std::string time;                      // empty: the only column of time stamps; "none": rows are numbered
  std::string time_format;               // a pattern (series/time_pattern.h); empty: ISO 8601 or epoch
  std::string item;                      // empty: the file holds one item
  std::string group;                     // items of equal values here belong together; empty: none does
  std::vector<std::string> targets;      // empty: all that hold numbers and are nothing else
  std::vector<std::string> past;         // covariates known for the past only
  std::vector<std::string> future;       // covariates known for the past and ahead
  std::vector<std::string> categorical;  // covariates whose numbers are names
  std::string frequency;                 // empty: from the stamps
};

// What the cells of a column are, gaps aside.
enum class ColumnHolds { kGaps, kNumbers, kText };

// Told by the majority of what is no gap. `comma`: decimals may be written with one.
ColumnHolds HoldsOf(const std::vector<std::string_view>& cells, bool comma);

struct CovariateColumn {
  std::string name;
  int column = -1;
  bool ahead = false;        // known beyond the last row too
  bool categorical = false;  // holds text, true and false, or was declared so
  bool declared = false;     // by --categorical: 1 and 1.0 are one category
};

// Indices of columns; -1 where there is none.
struct FoundColumns {
  int time = -1, item = -1, group = -1;
  std::vector<int> targets;
  std::vector<std::string> target_names;
  std::vector<CovariateColumn> covariates;  // those of the past first, each in the order they were named
};

// Is shown all rows of a file. The first 200 tell what a column holds; a column of gaps there is told by its
// first cell that is none, and one of gaps throughout is a target only if it is named or there is no other.
class ColumnFinder {
 public:
  ColumnFinder(SeriesColumns wanted, series::TimeReader time_reader, std::string path)
      : wanted_(std::move(wanted)), time_reader_(std::move(time_reader)), path_(std::move(path)) {}

  // Finds what the header alone tells: item and group. Error: NotFound.
  Status Begin(const formats::CsvReader& reader);
  // Takes the reader's row. Errors: InvalidArgument and NotFound with column and what would be right.
  Status See(const formats::CsvReader& reader);
  // To be called after the last row; errors as See.
  Status End(const formats::CsvReader& reader);

  const FoundColumns& found() const { return found_; }
  // One sentence on columns that were left out because they hold no value, or empty.
  const std::string& note() const { return note_; }
  // A column of text that might name items, for a hint; or empty.
  const std::string& text_column() const { return text_column_; }

 private:
  // Names for one thing, as they stand in the options.
  struct Wish {
    const char* option;
    std::vector<std::string>* names;
  };
  std::vector<std::string_view> Cells(size_t column) const;
  bool Takes(const std::vector<std::string>& names, const std::string& name) const;
  std::string OptionThatTakes(const std::string& name) const;
  std::string Contents(const formats::CsvReader& reader) const;
  Status FindColumns(const formats::CsvReader& reader);
  Status FindTimeColumn(const formats::CsvReader& reader);
  Status NoTimeColumn(const formats::CsvReader& reader) const;
  Status FindCovariates(const formats::CsvReader& reader);
  Status AddCovariates(const formats::CsvReader& reader, const std::vector<std::string>& names, bool ahead);
  Status DeclareCategories(const formats::CsvReader& reader);
  void WatchUndecided(const formats::CsvReader& reader);
  Status ChooseTargets(const formats::CsvReader& reader);
  Status FindTargets(const formats::CsvReader& reader);
  std::string UseOf(int column) const;

  SeriesColumns wanted_;
  series::TimeReader time_reader_;
  std::string path_;
  FoundColumns found_;
  std::vector<std::vector<std::string>> rows_;  // the sample
  std::vector<int64_t> lines_;
  bool decided_ = false;            // columns are found, targets perhaps not yet
  std::vector<ColumnHolds> holds_;  // by column; kText for what has another use
  std::vector<size_t> undecided_;   // columns of gaps alone so far that may become targets or covariates
  std::string note_;
  std::string text_column_;
};

}  // namespace plinth::engine
