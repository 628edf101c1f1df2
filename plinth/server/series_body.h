// Reads the series of a request's body (docs/serving.md, "Series") into what the engine forecasts.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "plinth/engine/grouping.h"
#include "plinth/engine/item_reader.h"
#include "plinth/engine/series_columns.h"
#include "plinth/engine/series_item.h"
#include "plinth/server/fields.h"

namespace plinth::server {

// Bounds of one request.
struct SeriesLimits {
  int64_t series = 10000, values = 20'000'000;
};

// Ragged and columnar: values of all items stand one after another, sizes say where each ends.
//   {"y": [1, 2, null, 4, 5], "sizes": [3, 2], "items": ["a", "b"], "start": "2026-01-01T00:00:00Z"}
// Several targets: "targets": {"load": [...], "wind": [...]} in the place of y.
// Times: "start" (one for all, or one per item) with freq; or "times", one per row; or neither: numbered.
// "past": {"name": [...]} has one value per row, "future": {"name": [...]} for each item its rows and then
// `horizon` more. Texts are categories. "groups" has one name per item.
struct SeriesBody {
  std::vector<engine::SeriesItem> items;
  std::vector<std::string> targets;
  std::vector<engine::CovariateColumn> covariates;
  std::vector<std::unique_ptr<engine::CategoryCodes>> codes;  // null for those of numbers
  bool named_groups = false;

  engine::GroupColumns Columns() const;
};

// Errors: InvalidArgument with the field; what is too much says what is allowed.
StatusOr<SeriesBody> ReadSeries(const JsonField& series, const std::string& frequency, int64_t horizon,
                                const SeriesLimits& limits);

}  // namespace plinth::server
