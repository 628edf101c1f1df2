#include "plinth/detect/detect_json.h"

namespace plinth::detect {
namespace {

double RowsPerDay(const engine::SeriesItem& item) {
  using Kind = series::Frequency::Kind;
  if (item.numbered) return 0;
  const double count = static_cast<double>(item.frequency.count);
  switch (item.frequency.kind) {
    case Kind::kMicros:
      return 86400e6 / count;
    case Kind::kDays:
      return 1 / count;
    case Kind::kBusinessDays:
      return 5.0 / 7 / count;
    case Kind::kMonths:
      break;
  }
  return 12 / 365.2425 / count;
}

}  // namespace

Series SeriesOf(const engine::SeriesItem& item) {
  Series series;
  for (const auto& column : item.values) series.columns.emplace_back(column);
  series.rows_per_day = RowsPerDay(item);
  return series;
}

bool DetectionJson::Next(formats::JsonWriter& json) {
  const size_t scores = d_.scores.size(), targets = targets_.size(), part = next_++;
  if (part == 0) {
    Head(json);
  } else if (part == 1) {
    Times(json);
  } else if (part == 2) {
    Numbers(json, "score", d_.score);
  } else if (part == 3) {
    AlarmOfRows(json);
  } else if (part < 4 + scores) {
    Scores(json, part - 4);
  } else if (part < 4 + scores + targets) {
    Target(json, part - 4 - scores);
  } else if (part == 4 + scores + targets) {
    Alarms(json);
  } else {
    return false;
  }
  return true;
}

void DetectionJson::Head(formats::JsonWriter& json) const {
  json.BeginObject();
  json.Key("item");
  item_.item.empty() ? json.Null() : json.String(item_.item);
  if (session_) json.Key("missing"), json.Int(session_->missing);
  json.Key("start"), Time(json, d_.first);
  json.Key("freq"), json.String(item_.FrequencyName());
  json.Key("threshold"), json.Number(d_.threshold);
  json.Key("calibration"), json.Int(d_.calibration);
  json.Key("window"), json.Int(d_.window);
  json.Key("period"), json.Int(d_.period);
  json.Key("step"), json.Int(d_.step);
}

void DetectionJson::Times(formats::JsonWriter& json) const {
  json.Key("times");
  json.BeginArray();
  for (int64_t row = 0; row < d_.rows(); ++row) Time(json, d_.first + row);
  json.EndArray();
}

void DetectionJson::AlarmOfRows(formats::JsonWriter& json) const {
  json.Key("alarm");
  json.BeginArray();
  for (const int32_t alarm : d_.alarm) alarm < 0 ? json.Null() : json.Int(alarm);
  json.EndArray();
}

void DetectionJson::Scores(formats::JsonWriter& json, size_t score) const {
  if (score == 0) json.Key("scores"), json.BeginObject();
  Numbers(json, ScoreName(d_.scores[score]), d_.surprise[score]);
  if (score + 1 == d_.scores.size()) json.EndObject();
}

void DetectionJson::Target(formats::JsonWriter& json, size_t target) const {
  if (target == 0) json.Key("targets"), json.BeginArray();
  json.BeginObject();
  json.Key("target"), json.String(targets_[target]);
  Numbers(json, "expected", d_.expected[target]);
  Numbers(json, "lower", d_.lower[target]);
  Numbers(json, "upper", d_.upper[target]);
  json.EndObject();
  if (target + 1 == targets_.size()) json.EndArray();
}

void DetectionJson::Alarms(formats::JsonWriter& json) const {
  json.Key("alarms");
  json.BeginArray();
  for (const Alarm& alarm : d_.alarms) OneAlarm(json, alarm);
  json.EndArray();
  json.EndObject();
}

void DetectionJson::OneAlarm(formats::JsonWriter& json, const Alarm& alarm) const {
  json.BeginObject();
  json.Key("start"), Time(json, alarm.begin);
  json.Key("end"), Time(json, alarm.end - 1);
  json.Key("rows"), json.Int(alarm.end - alarm.begin);
  json.Key("peak_time"), Time(json, alarm.peak_row);
  json.Key("peak"), json.Number(alarm.peak);
  json.Key("reason"), json.String(ReasonName(alarm.reason));
  json.Key("leading_score"), json.String(ScoreName(alarm.leading));
  json.Key("columns");
  json.BeginArray();
  for (const Contribution& c : alarm.columns) {
    json.BeginObject();
    json.Key("column"), json.String(Name(c.column));
    json.Key("share"), json.Number(c.share);
    json.EndObject();
  }
  json.EndArray();
  json.Key("causes");
  json.BeginArray();
  for (const Cause& cause : alarm.causes) {
    json.BeginObject();
    json.Key("column"), json.String(Name(cause.column));
    json.Key("of"), json.String(Name(cause.of));
    json.Key("lag"), json.Int(cause.lag);
    json.Key("correlation"), json.Number(cause.correlation);
    json.Key("p_value"), json.Number(cause.p_value);
    json.Key("moved"), Time(json, cause.moved_row);
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
}

void DetectionJson::Time(formats::JsonWriter& json, int64_t row) const {
  const int64_t before = session_ ? session_->before : 0;
  item_.numbered ? json.Int(item_.TimeMs(row) + before) : json.String(item_.TimeText(row));
}

void DetectionJson::Numbers(formats::JsonWriter& json, std::string_view key, std::span<const double> values) {
  json.Key(key);
  json.BeginArray();
  for (const double v : values) json.Number(v);
  json.EndArray();
}

}  // namespace plinth::detect
