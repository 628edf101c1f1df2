// Holds the options that say which series a command works on and which of them see each other.
#pragma once

#include <string>

#include "CLI/CLI.hpp"
#include "plinth/engine/grouping.h"
#include "plinth/engine/series_file.h"
#include "plinth/formats/model_folder.h"
#include "plinth/models/model.h"

namespace plinth::app {

struct SeriesOptions {
  std::string data;
  engine::SeriesColumns columns;
  std::string future_data;
  bool joint = false, cross_learning = false;
};

// What is asked of a forecast beside its series.
struct ForecastOptions {
  int64_t horizon = 0, context = 0, seed = 0;  // 0: the model's own horizon, all the context it takes
  std::string quantiles = "0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8,0.9";
};

// Adds --data, --time, --time-format, --item, --target, --freq.
void AddColumnOptions(CLI::App* command, std::string* data, engine::SeriesColumns* columns);
// The same, and those of covariates and groups.
void AddSeriesOptions(CLI::App* command, SeriesOptions* options);

// Adds --horizon, --context, --quantiles, --seed.
void AddForecastOptions(CLI::App* command, ForecastOptions* options);

// Error: InvalidArgument for more context than the model takes.
Status CheckContext(int64_t context, const models::ModelInfo& info);

// Which series see each other. Errors: InvalidArgument for options that contradict each other, and for a
// model whose family looks at each series by itself (names the options and what would work).
StatusOr<engine::Together> TogetherOf(const SeriesOptions& options, const models::ModelInfo& info);

// A result must not replace what it was made from. Error: InvalidArgument for an --out that is a file of the
// series or of the model.
Status CheckOutIsNoInput(const std::string& out, const SeriesOptions& series,
                         const formats::ModelFolder& model);

// What a message calls the items of `unit` together: "FILE: group "x"", or "FILE: --cross-learning".
std::string UnitName(const engine::SeriesFile& file, std::span<const engine::SeriesItem> unit);

}  // namespace plinth::app
