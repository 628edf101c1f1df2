#include "apps/plinth/detect_output.h"

#include <cmath>
#include <cstdio>

#include "apps/plinth/output_sink.h"
#include "plinth/formats/csv.h"
#include "plinth/formats/json.h"
#include "plinth/formats/json_writer.h"

namespace plinth::app {
namespace {

// "pressure flow": the columns of an alarm, largest share first.
std::string ColumnsText(const detect::Alarm& alarm, const std::vector<std::string>& targets,
                        std::string_view separator) {
  return Join(alarm.columns, separator,
              [&](const detect::Contribution& c) { return targets[static_cast<size_t>(c.column)]; });
}

class CsvDetectWriter : public DetectWriter {
 public:
  CsvDetectWriter(std::unique_ptr<Sink> sink, const DetectFacts& facts)
      : sink_(std::move(sink)), facts_(facts), csv_(&text_) {
    if (facts.has_items) csv_.Cell("item");
    for (const char* name : {"time", "score", "alarm", "reason", "columns"}) csv_.Cell(name);
    for (const detect::Score score : facts.scores) csv_.Cell(detect::ScoreName(score));
    for (const std::string& target : facts.targets) {
      csv_.Cell(target);
      for (const char* what : {".expected", ".lower", ".upper"}) csv_.Cell(StrCat(target, what));
    }
    csv_.EndRow();
  }
  Status Add(const DetectResult& r) override {
    for (int64_t row = 0; row < r.detection->rows(); ++row) {
      AddRow(r, static_cast<size_t>(row));
      if (text_.size() > kPiece) PLINTH_RETURN_IF_ERROR(sink_->Drain(&text_));
    }
    return sink_->Drain(&text_);
  }
  Status Finish() override {
    PLINTH_RETURN_IF_ERROR(sink_->Drain(&text_));
    return sink_->Finish();
  }

 private:
  static constexpr size_t kPiece = 1 << 16;
  void AddRow(const DetectResult& r, size_t row) {
    const detect::Detection& d = *r.detection;
    const int64_t at = d.first + static_cast<int64_t>(row);
    if (facts_.has_items) csv_.Cell(r.item->item);
    csv_.Cell(r.item->TimeText(at));
    csv_.Number(d.score[row]);
    if (d.alarm[row] < 0) {
      for (int k = 0; k < 3; ++k) csv_.Cell("");
    } else {
      const detect::Alarm& alarm = d.alarms[static_cast<size_t>(d.alarm[row])];
      csv_.Int(d.alarm[row] + 1);
      csv_.Cell(detect::ReasonName(alarm.reason));
      csv_.Cell(ColumnsText(alarm, facts_.targets, ";"));
    }
    for (const auto& surprise : d.surprise) csv_.Number(surprise[row]);
    for (size_t c = 0; c < facts_.targets.size(); ++c) {
      csv_.Number(r.item->values[c][static_cast<size_t>(at)]);
      csv_.Number(d.expected[c][row]);
      csv_.Number(d.lower[c][row]);
      csv_.Number(d.upper[c][row]);
    }
    csv_.EndRow();
  }
  std::unique_ptr<Sink> sink_;
  const DetectFacts facts_;
  std::string text_;
  formats::CsvWriter csv_;
};

class JsonDetectWriter : public DetectWriter {
 public:
  JsonDetectWriter(std::unique_ptr<Sink> sink, const DetectFacts& facts)
      : sink_(std::move(sink)), facts_(facts), json_(&text_) {
    json_.BeginObject();
    json_.Key("model"), json_.String(facts.model);
    json_.Key("identity"), json_.String(StrCat("sha256:", facts.evidence.identity));
    json_.Key("evidence"), json_.String(StateName(facts.evidence.state));
    json_.Key("false_alarms_per_day"), json_.Number(facts.false_alarms_per_day);
    json_.Key("items");
    json_.BeginArray();
  }
  Status Add(const DetectResult& r) override {
    const detect::Detection& d = *r.detection;
    json_.BeginObject();
    json_.Key("item");
    r.item->item.empty() ? json_.Null() : json_.String(r.item->item);
    json_.Key("start"), Time(r, d.first);
    json_.Key("freq"), json_.String(r.item->FrequencyName());
    json_.Key("threshold"), json_.Number(d.threshold);
    json_.Key("calibration"), json_.Int(d.calibration);
    json_.Key("window"), json_.Int(d.window);
    json_.Key("period"), json_.Int(d.period);
    json_.Key("step"), json_.Int(d.step);
    PLINTH_RETURN_IF_ERROR(Rows(r));
    PLINTH_RETURN_IF_ERROR(Targets(d));
    json_.Key("alarms");
    json_.BeginArray();
    for (const detect::Alarm& alarm : d.alarms) OneAlarm(r, alarm);
    json_.EndArray();
    json_.EndObject();
    return sink_->Drain(&text_);
  }
  Status Finish() override {
    json_.EndArray();
    json_.EndObject();
    json_.EndLine();
    PLINTH_RETURN_IF_ERROR(sink_->Drain(&text_));
    return sink_->Finish();
  }

 private:
  void Time(const DetectResult& r, int64_t row) {
    if (r.item->numbered) {
      json_.Int(r.item->TimeMs(row));
    } else {
      json_.String(r.item->TimeText(row));
    }
  }
  Status Numbers(const char* key, const std::vector<double>& values) {
    json_.Key(key);
    json_.BeginArray();
    for (const double v : values) json_.Number(v);
    json_.EndArray();
    return sink_->Drain(&text_);
  }
  Status Rows(const DetectResult& r) {
    const detect::Detection& d = *r.detection;
    json_.Key("times");
    json_.BeginArray();
    for (int64_t row = 0; row < d.rows(); ++row) Time(r, d.first + row);
    json_.EndArray();
    PLINTH_RETURN_IF_ERROR(Numbers("score", d.score));
    json_.Key("alarm");
    json_.BeginArray();
    for (const int32_t alarm : d.alarm) alarm < 0 ? json_.Null() : json_.Int(alarm);
    json_.EndArray();
    json_.Key("scores");
    json_.BeginObject();
    for (size_t s = 0; s < d.scores.size(); ++s) {
      PLINTH_RETURN_IF_ERROR(Numbers(std::string(detect::ScoreName(d.scores[s])).c_str(), d.surprise[s]));
    }
    json_.EndObject();
    return absl::OkStatus();
  }
  Status Targets(const detect::Detection& d) {
    json_.Key("targets");
    json_.BeginArray();
    for (size_t c = 0; c < facts_.targets.size(); ++c) {
      json_.BeginObject();
      json_.Key("target"), json_.String(facts_.targets[c]);
      PLINTH_RETURN_IF_ERROR(Numbers("expected", d.expected[c]));
      PLINTH_RETURN_IF_ERROR(Numbers("lower", d.lower[c]));
      PLINTH_RETURN_IF_ERROR(Numbers("upper", d.upper[c]));
      json_.EndObject();
    }
    json_.EndArray();
    return absl::OkStatus();
  }
  const std::string& Name(int64_t column) const { return facts_.targets[static_cast<size_t>(column)]; }
  void OneAlarm(const DetectResult& r, const detect::Alarm& alarm) {
    json_.BeginObject();
    json_.Key("start"), Time(r, alarm.begin);
    json_.Key("end"), Time(r, alarm.end - 1);
    json_.Key("rows"), json_.Int(alarm.end - alarm.begin);
    json_.Key("peak_time"), Time(r, alarm.peak_row);
    json_.Key("peak"), json_.Number(alarm.peak);
    json_.Key("reason"), json_.String(detect::ReasonName(alarm.reason));
    json_.Key("leading_score"), json_.String(detect::ScoreName(alarm.leading));
    json_.Key("columns");
    json_.BeginArray();
    for (const detect::Contribution& c : alarm.columns) {
      json_.BeginObject();
      json_.Key("column"), json_.String(Name(c.column));
      json_.Key("share"), json_.Number(c.share);
      json_.EndObject();
    }
    json_.EndArray();
    json_.Key("causes");
    json_.BeginArray();
    for (const detect::Cause& cause : alarm.causes) {
      json_.BeginObject();
      json_.Key("column"), json_.String(Name(cause.column));
      json_.Key("of"), json_.String(Name(cause.of));
      json_.Key("lag"), json_.Int(cause.lag);
      json_.Key("correlation"), json_.Number(cause.correlation);
      json_.Key("p_value"), json_.Number(cause.p_value);
      json_.Key("moved"), Time(r, cause.moved_row);
      json_.EndObject();
    }
    json_.EndArray();
    json_.EndObject();
  }
  std::unique_ptr<Sink> sink_;
  const DetectFacts facts_;
  std::string text_;
  formats::JsonWriter json_;
};

// The alarms, a line each.
class TextDetectWriter : public DetectWriter {
 public:
  TextDetectWriter(std::unique_ptr<Sink> sink, const DetectFacts& facts)
      : sink_(std::move(sink)), facts_(facts) {}
  Status Add(const DetectResult& r) override {
    const detect::Detection& d = *r.detection;
    std::string text;
    if (facts_.has_items) StrAppend(&text, "item ", formats::QuotedShort(r.item->item), "\n");
    const size_t count = d.alarms.size();
    StrAppend(&text, d.rows(), " rows, ", count, count == 1 ? " alarm" : " alarms", " at a threshold of ",
              Short(d.threshold), "\n");
    for (size_t a = 0; a < count; ++a) StrAppend(&text, Line(r, d.alarms[a], a));
    return sink_->Write(text);
  }
  Status Finish() override { return sink_->Finish(); }

 private:
  static std::string Short(double value) {
    char text[32];
    std::snprintf(text, sizeof(text), "%.3g", value);
    return text;
  }
  const std::string& Name(int64_t column) const { return facts_.targets[static_cast<size_t>(column)]; }
  std::string Line(const DetectResult& r, const detect::Alarm& alarm, size_t index) const {
    std::string line = StrCat("  ", index + 1, "  ", r.item->TimeText(alarm.begin));
    if (alarm.end - alarm.begin > 1) StrAppend(&line, " to ", r.item->TimeText(alarm.end - 1));
    StrAppend(&line, "  ", detect::ReasonName(alarm.reason), "  score ", Short(alarm.peak), " (",
              detect::ScoreName(alarm.leading), ")  ", ColumnsText(alarm, facts_.targets, ", "), "\n");
    for (const detect::Cause& cause : alarm.causes) {
      StrAppend(&line, "       ", Name(cause.column), " moved at ", r.item->TimeText(cause.moved_row),
                "; it leads ", Name(cause.of), " by ", cause.lag, cause.lag == 1 ? " row" : " rows", " (r ",
                Short(cause.correlation), ")\n");
    }
    return line;
  }
  std::unique_ptr<Sink> sink_;
  const DetectFacts facts_;
};

}  // namespace

StatusOr<DetectOutput> DetectOutputOf(const std::string& path) {
  if (std::string_view(path).ends_with(".csv")) return DetectOutput::kCsv;
  if (std::string_view(path).ends_with(".json")) return DetectOutput::kJson;
  return absl::InvalidArgumentError(StrCat("--out ", path, ": the name must end in .csv or .json"));
}

StatusOr<std::unique_ptr<DetectWriter>> MakeDetectWriter(DetectOutput kind, const std::string& path,
                                                         const DetectFacts& facts) {
  PLINTH_ASSIGN_OR_RETURN(auto sink, Sink::Open(path));
  switch (kind) {
    case DetectOutput::kCsv:
      return std::unique_ptr<DetectWriter>(new CsvDetectWriter(std::move(sink), facts));
    case DetectOutput::kJson:
      return std::unique_ptr<DetectWriter>(new JsonDetectWriter(std::move(sink), facts));
    case DetectOutput::kText:
      break;
  }
  return std::unique_ptr<DetectWriter>(new TextDetectWriter(std::move(sink), facts));
}

}  // namespace plinth::app
