// Writes forecasts as CSV, JSON, an HTML page, or for the terminal, one series at a time.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "plinth/base/status.h"
#include "plinth/engine/forecast_json.h"
#include "plinth/evidence/gate.h"

namespace plinth::app {

// What stands once in an output.
struct ForecastFacts {
  std::string model, digest;
  evidence::GateResult evidence;
  std::string data_file;
  int64_t horizon = 0;
  std::vector<double> levels;
  bool kept = false;  // a file with all of it is written too
};

using engine::ForecastResult;

class ForecastWriter {
 public:
  virtual ~ForecastWriter() = default;
  virtual Status Add(const ForecastResult& result) = 0;
  // Ends the output; a file appears under its name only now.
  virtual Status Finish() = 0;
};

enum class OutputKind { kCsv, kJson, kHtml, kTerminal };

// By the ending of `path`: .csv, .json, .html. Error: InvalidArgument for another one.
StatusOr<OutputKind> KindOfPath(const std::string& path);

// Writes to `path`, or to standard output where it is empty.
// CSV columns: item (if any has one), target, time, mean, then one per level. JSON: the object of the
// contract. "mean" holds the point forecast, which is the median for models that give quantiles only.
StatusOr<std::unique_ptr<ForecastWriter>> MakeForecastWriter(OutputKind kind, const std::string& path,
                                                             const ForecastFacts& facts, bool has_items);

}  // namespace plinth::app
