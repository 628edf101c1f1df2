// Reads the rows of a series file, item by item, with the columns that were found.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "plinth/engine/series_columns.h"
#include "plinth/formats/csv.h"
#include "plinth/series/timestamp.h"

namespace plinth::engine {

// A file that can be read more than once: what is no regular file (a pipe; "-" is standard input) is in
// memory.
class CsvSource {
 public:
  // Errors: those of opening; InvalidArgument for a pipe that holds more than 1 GiB.
  static StatusOr<CsvSource> Open(const std::string& path);
  // How messages call it.
  const std::string& path() const { return path_; }
  StatusOr<formats::CsvReader> Reader() const;

 private:
  std::string path_;
  std::optional<std::string> text_;
};

// Numbers the categories of one column in the order in which they appear.
class CategoryCodes {
 public:
  // series::kMissingCategory for a gap. True and false are one category however they are written, and where
  // `numbers` so are 1 and 1.0; other text counts byte by byte, spaces around it aside.
  // Error: ResourceExhausted for more than a million categories.
  StatusOr<int32_t> Of(std::string_view cell, bool comma, bool numbers);
  const std::vector<std::string>& labels() const { return labels_; }  // by code

 private:
  std::unordered_map<std::string, int32_t> codes_;
  std::vector<std::string> labels_;
};

// A covariate row by row: numbers with NaN for gaps, or codes of categories.
struct CovariateValues {
  std::vector<double> numbers;
  std::vector<int32_t> codes;
};

// One item's rows in file order.
struct ItemRows {
  std::string item, group;
  std::vector<series::Timestamp> times;  // empty where rows are numbered
  std::vector<int64_t> lines;
  std::vector<std::vector<double>> targets;
  std::vector<CovariateValues> covariates;

  int64_t count() const { return static_cast<int64_t>(lines.size()); }
};

// `codes` [covariates of `columns`] must outlive it, entries of numeric covariates are not used.
class ItemReader {
 public:
  static StatusOr<ItemReader> Open(const CsvSource& source, FoundColumns columns, series::TimeReader time,
                                   std::vector<CategoryCodes*> codes);

  // Reads the rows of one item that stand together; false at the end of the file.
  // Errors: InvalidArgument with file, line and column.
  StatusOr<bool> Next(ItemRows* rows);
  // Reads all rows that are left; items in the order of their first rows.
  StatusOr<std::vector<ItemRows>> All();
  const series::TimeStyle& style() const { return time_.style(); }

 private:
  ItemReader(formats::CsvReader reader, FoundColumns columns, series::TimeReader time,
             std::vector<CategoryCodes*> codes)
      : reader_(std::move(reader)),
        columns_(std::move(columns)),
        time_(std::move(time)),
        codes_(std::move(codes)) {}
  std::string Cell(int column) const;  // empty where there is no such column
  void Begin(ItemRows* rows) const;
  Status Advance();
  Status AddRow(ItemRows* rows);
  Status AddCovariate(size_t c, CovariateValues* values);

  formats::CsvReader reader_;
  FoundColumns columns_;
  series::TimeReader time_;
  std::vector<CategoryCodes*> codes_;
  bool has_row_ = false;  // the reader stands on a row that is not taken yet
};

}  // namespace plinth::engine
