// Finds the rows of a second file that say what is known beyond the last row of each item.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "plinth/engine/item_reader.h"
#include "plinth/engine/series_item.h"

namespace plinth::engine {

// Names of columns in the data file, by which the same ones are found here; empty where there is none.
struct FutureColumns {
  std::string time, item;
};

// Where the items of both files stand in the same order only one of them is in memory at a time; else what
// was read on the way to an item waits for its turn. Where the rows of an item do not stand together all are
// read.
class FutureRows {
 public:
  // `covariates`: of the data file; those known ahead are looked for. `codes`: as for ItemReader.
  // Errors: InvalidArgument and NotFound with file and column.
  static StatusOr<FutureRows> Open(const std::string& path, const FutureColumns& names,
                                   const std::vector<CovariateColumn>& covariates,
                                   const series::TimeReader& time, const std::vector<CategoryCodes*>& codes);

  // Appends `steps` values to those covariates of `item` that are known ahead, and a note to the item for
  // each column that has gaps there. The rows must be the steps after the item's last one, in order; later
  // ones are not looked at. Error: InvalidArgument with file, item and line, what was found and what would be
  // right. `data`: how messages call the file of the item.
  Status Append(const std::string& data, int64_t steps, SeriesItem* item);

 private:
  FutureRows(CsvSource source, ItemReader reader) : source_(std::move(source)), reader_(std::move(reader)) {}
  StatusOr<bool> Take(const std::string& item, ItemRows* rows);
  Status CheckRows(const ItemRows& rows, const std::string& data, int64_t steps,
                   const SeriesItem& item) const;
  Status WrongRow(const ItemRows& rows, size_t k, const std::string& data, const SeriesItem& item) const;
  std::string Where(const SeriesItem& item) const;

  CsvSource source_;
  ItemReader reader_;
  std::string time_name_;
  std::vector<size_t> ahead_;  // by covariate of this file: its place among those of the data
  std::vector<std::string> names_;
  std::unordered_map<std::string, ItemRows> waiting_;
};

// Notes that values are missing among the last `steps` of the covariate called `name`, if so.
void NoteGapsAhead(const std::string& path, const std::string& name, const CovariateValues& values,
                   int64_t steps, SeriesItem* item);

}  // namespace plinth::engine
