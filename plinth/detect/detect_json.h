// Writes what was found in an item as JSON, as commands and servers give it (docs/commands.md, "detect").
#pragma once

#include <optional>
#include <span>
#include <string>

#include "plinth/detect/detect.h"
#include "plinth/engine/series_item.h"
#include "plinth/formats/json_writer.h"

namespace plinth::detect {

// The targets of an item, and how many rows it has in a day: of calendar frequencies on the average.
Series SeriesOf(const engine::SeriesItem& item);

// {"item", "start", "freq", "threshold", "calibration", "window", "period", "step", "times", "score",
// "alarm", "scores", "targets", "alarms"}, one list at a time, so that whoever sends it holds one list in
// memory. What it is made from must outlive it.
class DetectionJson {
 public:
  // Of an item whose rows come bit by bit.
  struct Session {
    int64_t missing = 0;  // "missing": rows until there is enough to learn from
    int64_t before = 0;   // rows that lie before the item's first one, where rows are numbered
  };
  DetectionJson(const engine::SeriesItem& item, const Detection& detection,
                std::span<const std::string> targets, std::optional<Session> session = {})
      : item_(item), d_(detection), targets_(targets), session_(session) {}
  // Appends the next part; false once there is nothing more.
  bool Next(formats::JsonWriter& json);

 private:
  void Head(formats::JsonWriter& json) const;
  void Times(formats::JsonWriter& json) const;
  void AlarmOfRows(formats::JsonWriter& json) const;
  void Scores(formats::JsonWriter& json, size_t score) const;
  void Target(formats::JsonWriter& json, size_t target) const;
  void Alarms(formats::JsonWriter& json) const;
  void OneAlarm(formats::JsonWriter& json, const Alarm& alarm) const;
  void Time(formats::JsonWriter& json, int64_t row) const;
  static void Numbers(formats::JsonWriter& json, std::string_view key, std::span<const double> values);
  const std::string& Name(int64_t column) const { return targets_[static_cast<size_t>(column)]; }

  const engine::SeriesItem& item_;
  const Detection& d_;
  const std::span<const std::string> targets_;
  const std::optional<Session> session_;
  size_t next_ = 0;
};

}  // namespace plinth::detect
