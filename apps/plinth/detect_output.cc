#include "apps/plinth/detect_output.h"

#include <cmath>
#include <cstdio>

#include "apps/plinth/output_sink.h"
#include "plinth/detect/detect_json.h"
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
    detect::DetectionJson parts(*r.item, *r.detection, facts_.targets);
    while (parts.Next(json_)) PLINTH_RETURN_IF_ERROR(sink_->Drain(&text_));
    return absl::OkStatus();
  }
  Status Finish() override {
    json_.EndArray();
    json_.EndObject();
    json_.EndLine();
    PLINTH_RETURN_IF_ERROR(sink_->Drain(&text_));
    return sink_->Finish();
  }

 private:
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
