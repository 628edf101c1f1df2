// Writes detections as CSV, JSON, or text, one item at a time.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "plinth/base/status.h"
#include "plinth/detect/detect.h"
#include "plinth/engine/series_file.h"
#include "plinth/evidence/gate.h"

namespace plinth::app {

// What stands once in an output.
struct DetectFacts {
  std::string model;
  evidence::GateResult evidence;
  std::vector<std::string> targets;
  std::vector<detect::Score> scores;
  double false_alarms_per_day = 0;
  bool has_items = false;
};

// One item beside what was found in it.
struct DetectResult {
  const engine::SeriesItem* item;
  const detect::Detection* detection;
};

class DetectWriter {
 public:
  virtual ~DetectWriter() = default;
  virtual Status Add(const DetectResult& result) = 0;
  // Ends the output; a file appears under its name only now.
  virtual Status Finish() = 0;
};

enum class DetectOutput { kCsv, kJson, kText };

// By the ending of `path`: .csv or .json. Error: InvalidArgument for another one.
StatusOr<DetectOutput> DetectOutputOf(const std::string& path);

// Writes to `path`, or to standard output where it is empty.
// CSV, a row each: item (if any), time, score, alarm (1, 2 ... within the item), reason, columns, one column
// per single score, then for each target X: "X", "X.expected", "X.lower", "X.upper". JSON: docs/commands.md.
// Text: the alarms.
StatusOr<std::unique_ptr<DetectWriter>> MakeDetectWriter(DetectOutput kind, const std::string& path,
                                                         const DetectFacts& facts);

}  // namespace plinth::app
