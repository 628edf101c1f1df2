// Reads series from a CSV file one item at a time, each on a regular grid with gaps as NaN.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "plinth/engine/future_rows.h"
#include "plinth/engine/item_reader.h"
#include "plinth/engine/series_columns.h"
#include "plinth/engine/series_item.h"
#include "plinth/series/categories.h"
#include "plinth/series/frequency.h"
#include "plinth/series/time_axis.h"

namespace plinth::engine {

// Where the values of covariates ahead come from. Without a file they are those of the item's last rows, in
// which all targets are gaps: these rows are cut off the targets.
struct FutureSource {
  std::string path;   // empty: the data file itself
  int64_t steps = 0;  // how many each item must have; 0: none is needed and rows ahead are only cut off
};

// A file is read twice: the first pass finds the columns, counts the items and sees whether the rows of each
// item stand together. If they do, only one item is in memory at a time; else all are. What is no regular
// file (a pipe; "-" is standard input) is read into memory first, up to 1 GiB. An item of one row has the
// frequency of the item before it, or else of the first item that shows one.
class SeriesFile {
 public:
  // Errors: InvalidArgument and NotFound with file, row and column, and what would be right.
  static StatusOr<SeriesFile> Open(const std::string& path, const SeriesColumns& columns,
                                   const FutureSource& future = {});

  const std::string& path() const { return source_.path(); }
  const std::vector<std::string>& targets() const { return found_.target_names; }
  const std::vector<CovariateColumn>& covariates() const { return found_.covariates; }
  int64_t items() const { return items_; }
  // One sentence on columns that were left out because they hold no value, or empty.
  const std::string& note() const { return note_; }
  // Of the categorical covariate at `index`, by code, as far as they were met; in both files.
  const std::vector<std::string>& labels(size_t index) const { return codes_[index]->labels(); }

  // Reads the next item; false at the end. Items of one group come one after another, groups and the items in
  // them in the order of their first rows. Errors: as Open.
  StatusOr<bool> Next(SeriesItem* item);

  // Sorts the categories that the past of any item holds, one entry per covariate; empty for one of numbers.
  // Reads the file once more where there are any; to be called before Next. Errors: as Open.
  StatusOr<std::vector<series::CategoryOrder>> SortCategories();

 private:
  // Items and groups that the first pass has met.
  struct Seen {
    std::unordered_set<std::string> all;
    std::string current;
    // Counts a value, false where one comes back after another.
    bool Add(std::string_view value);
  };
  struct SeenGroups {
    Seen groups;
    std::unordered_map<std::string, std::string> of;  // by item
  };
  explicit SeriesFile(CsvSource source) : source_(std::move(source)) {}
  Status FirstPass(const SeriesColumns& columns);
  Status SeeGroup(const formats::CsvReader& reader, SeenGroups* seen);
  Status OpenFuture();
  Status LoadAll();
  StatusOr<ItemReader> OpenReader();
  StatusOr<series::Inference> Infer(const ItemRows& rows) const;
  StatusOr<series::Inference> InferFromAny(const ItemRows& rows);
  Status FindFrequency(const ItemRows& rows, SeriesItem* item);
  Status ToItem(const ItemRows& rows, SeriesItem* item);
  Status AddCovariates(const ItemRows& rows, const series::Grid* grid, SeriesItem* item);
  Status SplitOffFuture(const std::vector<int64_t>& positions, SeriesItem* item) const;
  bool FutureInData() const;
  bool StepsFit(const SeriesItem& item, int64_t past) const;
  std::string Where(const SeriesItem& item) const;
  Status Named(const Status& status, const SeriesItem& item) const;

  CsvSource source_;
  FutureSource future_wish_;
  FoundColumns found_;
  FutureColumns names_;
  std::string note_;
  std::string text_column_;  // one that might name items, for a hint
  int64_t items_ = 0;
  bool together_ = true;
  bool frequency_given_ = false;
  series::TimeReader time_reader_;
  std::vector<std::unique_ptr<CategoryCodes>> codes_;  // by covariate; on the heap: readers point at them
  std::optional<ItemReader> reader_;
  std::optional<FutureRows> future_;
  std::optional<series::Frequency> frequency_;  // given, or that of the item before
  std::vector<ItemRows> all_;                   // where items or groups are mixed
  size_t next_ = 0;
};

}  // namespace plinth::engine
