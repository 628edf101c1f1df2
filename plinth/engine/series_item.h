// Holds one item of a series file: its targets and covariates on one grid.
#pragma once

#include <string>
#include <vector>

#include "plinth/engine/item_reader.h"
#include "plinth/series/frequency.h"

namespace plinth::engine {

struct SeriesItem {
  std::string item;
  std::string group;                        // the item's value in the group column, or empty
  std::vector<std::vector<double>> values;  // by target, of equal length, oldest first
  // As SeriesFile::covariates(), on the same grid; those known ahead go on beyond the targets' end.
  std::vector<CovariateValues> covariates;
  bool numbered = false;  // no time column: index k is row k + 1
  series::Timestamp origin;
  series::Frequency frequency;
  series::TimeStyle style;
  std::vector<std::string> notes;  // sentences worth showing

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

}  // namespace plinth::engine
