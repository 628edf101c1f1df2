// Measures columns of scores against labels: VUS-PR, and events at the threshold of an allowed rate.
//
//   plinth_detect_measure FILE.csv ROWS_PER_DAY FALSE_ALARMS_PER_DAY CALIBRATION BUFFER GAP
//
// FILE: a column "label" of 0 and 1, every other one a score. The first CALIBRATION rows set the thresholds
// and are measured nowhere. A line of JSON for each score.
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

#include "plinth/detect/ranges.h"
#include "plinth/detect/tail.h"
#include "plinth/formats/csv.h"
#include "plinth/formats/json_writer.h"

namespace plinth {
namespace {

struct Table {
  std::vector<std::string> names;
  std::vector<std::vector<double>> scores;
  std::vector<uint8_t> labels;
};

StatusOr<Table> Read(const std::string& path) {
  PLINTH_ASSIGN_OR_RETURN(formats::CsvReader reader, formats::CsvReader::Open(path));
  PLINTH_ASSIGN_OR_RETURN(const int label, reader.Column("label"));
  Table table;
  for (const std::string& name : reader.header()) table.names.push_back(name);
  table.scores.resize(table.names.size());
  while (true) {
    PLINTH_ASSIGN_OR_RETURN(const bool more, reader.Next());
    if (!more) break;
    for (size_t c = 0; c < table.names.size(); ++c) {
      PLINTH_ASSIGN_OR_RETURN(const double value, reader.Number(static_cast<int>(c)));
      table.scores[c].push_back(value);
    }
    table.labels.push_back(table.scores[static_cast<size_t>(label)].back() > 0 ? 1 : 0);
  }
  return table;
}

Status Run(const std::string& path, double per_day, double allowed, size_t calibration, int64_t buffer,
           int64_t gap) {
  PLINTH_ASSIGN_OR_RETURN(const Table table, Read(path));
  if (calibration >= table.labels.size())
    return absl::InvalidArgumentError("no row lies behind the calibration");
  const auto labels = std::span(table.labels).subspan(calibration);
  int64_t normal = 0, anomalous = 0;
  for (const uint8_t l : labels) l != 0 ? ++anomalous : ++normal;
  for (size_t c = 0; c < table.names.size(); ++c) {
    if (table.names[c] == "label") continue;
    const std::span<const double> all(table.scores[c]);
    const double threshold = detect::EventThreshold(all.first(calibration), allowed / per_day, gap);
    const auto scores = all.subspan(calibration);
    const detect::EventCounts events = detect::CountEvents(scores, labels, threshold, gap);
    int64_t needless = 0;  // normal rows inside alarms
    for (const detect::Event& event : detect::EventsAbove(scores, threshold, gap)) {
      for (int64_t row = event.begin; row < event.end; ++row)
        needless += labels[static_cast<size_t>(row)] == 0 ? 1 : 0;
    }
    std::string line;
    formats::JsonWriter json(&line);
    json.BeginObject();
    json.Key("score"), json.String(table.names[c]);
    json.Key("vus_pr");
    if (anomalous > 0) {
      PLINTH_ASSIGN_OR_RETURN(const double vus, detect::VusPr(scores, labels, buffer));
      json.Number(vus);
    } else {
      json.Null();
    }
    json.Key("threshold"), json.Number(threshold);
    json.Key("alarms"), json.Int(events.alarms);
    json.Key("true_alarms"), json.Int(events.true_alarms);
    json.Key("anomalies"), json.Int(events.anomalies);
    json.Key("found"), json.Int(events.found);
    json.Key("mean_delay_rows"), json.Number(events.mean_delay);
    json.Key("needless_days"), json.Number(static_cast<double>(needless) / per_day);
    json.Key("normal_days"), json.Number(static_cast<double>(normal) / per_day);
    json.EndObject();
    std::printf("%s\n", line.c_str());
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace plinth

int main(int argc, char** argv) {
  if (argc != 7) {
    std::fprintf(stderr, "usage: %s FILE.csv ROWS_PER_DAY FALSE_ALARMS_PER_DAY CALIBRATION BUFFER GAP\n",
                 argv[0]);
    return 2;
  }
  const plinth::Status status =
      plinth::Run(argv[1], std::atof(argv[2]), std::atof(argv[3]), static_cast<size_t>(std::atoll(argv[4])),
                  std::atoll(argv[5]), std::atoll(argv[6]));
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s: %s\n", argv[1], std::string(status.message()).c_str());
  return 2;
}
