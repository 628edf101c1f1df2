// /v1/detect: what a model and the series' own habits did not expect, row by row, and alarms
// (docs/serving.md, docs/anomaly-detection.md).
#include "plinth/detect/detect.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "plinth/detect/detect_json.h"
#include "plinth/formats/json_writer.h"
#include "plinth/server/api/beside.h"
#include "plinth/server/api/routes.h"
#include "plinth/server/bounds.h"
#include "plinth/server/fields.h"
#include "plinth/server/request_fields.h"
#include "plinth/server/series_body.h"
#include "plinth/server/service.h"

namespace plinth::server {
namespace {

using http::ExchangePtr;
using http::PathNames;
using http::Produced;
using http::Request;
using http::Response;
using http::Scope;

constexpr size_t kPiece = 64 << 10;    // of an answer that is sent in chunks
constexpr size_t kOnePiece = 1 << 20;  // answers up to here go out in one
constexpr int64_t kMostRows = int64_t{1} << 30;
constexpr int64_t kBriefValues = 4096;  // new values of sessions that take no time worth waiting for

struct Job {
  CommonFields common;
  SeriesBody series;
  detect::Options options;
  bool raise = false;
  std::string session;                          // empty: none
  std::vector<std::string> ids;                 // with a session, by item
  std::vector<detect::Detection> found;         // by item
  std::vector<DetectSessions::Answer> answers;  // with a session; their detections are in `found`
  Work::Timing timing;
};

// A list of names, or one text with commas.
Status ReadScores(const JsonField& field, detect::Options* options) {
  std::string text;
  if (field.is_array()) {
    PLINTH_ASSIGN_OR_RETURN(const auto elements, field.Elements(detect::kScores));
    for (const JsonField& element : elements) {
      PLINTH_ASSIGN_OR_RETURN(const std::string_view name, element.Text());
      StrAppend(&text, text.empty() ? "" : ",", name);
    }
  } else {
    PLINTH_ASSIGN_OR_RETURN(const std::string_view names, field.Text());
    text = std::string(names);
  }
  auto scores = detect::ParseScores(text);
  if (!scores.ok()) return FieldError(field.path(), std::string(scores.status().message()));
  options->scores = *std::move(scores);
  return absl::OkStatus();
}

Status ReadOptions(const JsonField& root, const ServedModel& model, detect::Options* o) {
  const std::pair<const char*, int64_t*> counts[] = {
      {"last", &o->last},     {"history", &o->history}, {"calibration", &o->calibration},
      {"window", &o->window}, {"step", &o->step},       {"context", &o->context}};
  for (const auto& [name, to] : counts) {
    if (const auto field = root.Find(name)) {
      PLINTH_ASSIGN_OR_RETURN(*to, field->Int(1, kMostRows));
    }
  }
  if (const auto field = root.Find("coverage")) {
    PLINTH_ASSIGN_OR_RETURN(o->coverage, field->Number(0, 1));
    if (o->coverage == 0 || o->coverage == 1) return field->Refuse("a number between 0 and 1, as 0.99");
  }
  if (const auto field = root.Find("false_alarms_per_day")) {
    PLINTH_ASSIGN_OR_RETURN(o->false_alarms_per_day, field->Number(0, 1e9));
    if (o->false_alarms_per_day == 0) return field->Refuse("a number above 0, as 0.1 for one in ten days");
  }
  if (const auto field = root.Find("causal")) {
    PLINTH_ASSIGN_OR_RETURN(o->causal, field->Flag());
  }
  if (const auto field = root.Find("relate")) {
    PLINTH_ASSIGN_OR_RETURN(o->relate, field->Flag());
  }
  if (root.Find("history") && o->last == 0)
    return FieldError("history", "counts the rows before the last ones; give last, too");
  if (const auto field = root.Find("scores")) PLINTH_RETURN_IF_ERROR(ReadScores(*field, o));
  const bool stream = o->causal || o->last > 0 || root.Find("session").has_value();
  if (o->scores.empty()) o->scores = detect::DefaultScores(stream);
  if (o->step > model.info().horizon) {
    return FieldError("step", StrCat("is ", o->step, "; the model forecasts up to ", model.info().horizon,
                                     " steps at once"));
  }
  std::optional<int64_t> step, context;
  if (o->step > 0) step = o->step;
  if (o->context > 0) context = o->context;
  engine::ForecastRequest reach;
  return SetReach(model, step, context, "step", "context", &reach);
}

// A session scores rows as they come, by what its first ones were.
Status ReadSession(const Request& request, const JsonField& root, const JsonField& session, Job* job) {
  PLINTH_ASSIGN_OR_RETURN(job->session, ReadSessionName(session, job->series));
  for (const char* name : {"last", "history", "causal"}) {
    if (root.Find(name))
      return FieldError(name, "goes without a session: that scores the rows of each request as a stream");
  }
  detect::Options& o = job->options;
  if (o.calibration == 0) o.calibration = DetectSessions::kUsualCalibration;
  if (o.calibration < detect::kLeastRows || o.calibration > DetectSessions::kMostRows) {
    return FieldError("calibration", StrCat("is ", o.calibration, "; a session learns from ",
                                            detect::kLeastRows, " to ", DetectSessions::kMostRows, " rows"));
  }
  if (o.window != 0 && (o.window < 2 || o.window > o.calibration / 2)) {
    return FieldError("window", StrCat("is ", o.window, "; of a calibration part of ", o.calibration,
                                       " rows it has 2 to ", o.calibration / 2));
  }
  if (std::find(o.scores.begin(), o.scores.end(), detect::Score::kMasked) != o.scores.end())
    return FieldError("scores",
                      "masked needs the rows behind each row and cannot score a stream; leave it out");
  for (const engine::SeriesItem& item : job->series.items)
    job->ids.push_back(SessionId(request, job->session, item.item));
  return absl::OkStatus();
}

// What detection does not look at is refused, not passed over.
Status CheckSeries(const SeriesBody& body) {
  if (!body.covariates.empty()) {
    return FieldError(body.covariates[0].ahead ? "series.future" : "series.past",
                      "is not looked at in detection; give these columns as targets");
  }
  if (body.named_groups) {
    return FieldError("series.groups", "is not looked at in detection: each item stands by itself");
  }
  if (body.targets.size() > static_cast<size_t>(detect::kMostColumns)) {
    return FieldError("series.targets", StrCat("names ", body.targets.size(), " columns; detection takes ",
                                               detect::kMostColumns, " together"));
  }
  return absl::OkStatus();
}

// Values of the answer, which stand in memory until it is sent.
Status CheckAnswer(const Job& job, int64_t most) {
  double values = 0;
  const double by_row = static_cast<double>(3 * job.series.targets.size() + job.options.scores.size() + 2);
  for (const engine::SeriesItem& item : job.series.items) {
    const int64_t rows = job.options.last > 0 ? std::min(job.options.last, item.length()) : item.length();
    values += static_cast<double>(rows) * by_row;
  }
  if (values <= static_cast<double>(most)) return absl::OkStatus();
  return absl::ResourceExhaustedError(StrCat("the answer would hold more than ", most,
                                             " values, the most that one may (limits.values); ask for fewer "
                                             "rows with last, or send fewer at once"));
}

StatusOr<std::shared_ptr<Job>> ReadJob(Service& service, const Request& request) {
  PLINTH_ASSIGN_OR_RETURN(const JsonBody body, JsonBody::Parse(request.body));
  const JsonField root = body.root();
  PLINTH_RETURN_IF_ERROR(
      root.CheckKeys({"model", "series", "freq", "last", "history", "calibration", "window", "step",
                      "context", "coverage", "false_alarms_per_day", "causal", "scores", "relate", "raise",
                      "session", "priority", "timeout_seconds"}));
  auto job = std::make_shared<Job>();
  PLINTH_ASSIGN_OR_RETURN(job->common, ReadCommon(service, root));
  PLINTH_RETURN_IF_ERROR(ReadOptions(root, *job->common.model, &job->options));
  if (const auto field = root.Find("raise")) {
    PLINTH_ASSIGN_OR_RETURN(job->raise, field->Flag());
  }
  PLINTH_ASSIGN_OR_RETURN(const JsonField series, root.Get("series"));
  const auto settings = service.settings();
  PLINTH_ASSIGN_OR_RETURN(job->series,
                          ReadSeries(series, job->common.frequency, 0, {settings->series, settings->values}));
  PLINTH_RETURN_IF_ERROR(CheckSeries(job->series));
  if (const auto field = root.Find("session"))
    PLINTH_RETURN_IF_ERROR(ReadSession(request, root, *field, job.get()));
  PLINTH_RETURN_IF_ERROR(CheckAnswer(*job, settings->values));
  return job;
}

// Writes the answer part by part.
class Writer {
 public:
  explicit Writer(std::shared_ptr<const Job> job) : job_(std::move(job)), json_(&text_) {
    const ServedModel& model = *job_->common.model;
    json_.BeginObject();
    json_.Key("model"), json_.String(model.name());
    json_.Key("identity"), json_.String(StrCat("sha256:", model.gate.identity));
    json_.Key("evidence"), json_.String(evidence::StateName(model.gate.state));
    json_.Key("false_alarms_per_day"), json_.Number(job_->options.false_alarms_per_day);
    json_.Key("items"), json_.BeginArray();
  }

  // Appends the next part to `piece`; false once there is nothing more.
  bool Next(std::string* piece) {
    if (done_) return false;
    if (item_ == job_->found.size()) {
      End();
    } else {
      if (!parts_)
        parts_.emplace(job_->series.items[item_], job_->found[item_], job_->series.targets, Session());
      if (!parts_->Next(json_)) parts_.reset(), ++item_;
    }
    *piece += text_;
    text_.clear();
    return true;
  }

 private:
  std::optional<detect::DetectionJson::Session> Session() const {
    if (job_->session.empty()) return std::nullopt;
    const DetectSessions::Answer& answer = job_->answers[item_];
    return detect::DetectionJson::Session{answer.missing, answer.before};
  }
  void End() {
    json_.EndArray();
    json_.Key("notes"), json_.BeginArray();
    for (size_t i = 0; i < job_->found.size(); ++i) {
      for (const std::string& note : job_->series.items[i].notes) json_.String(note);
      for (const std::string& note : job_->found[i].notes) json_.String(note);
    }
    json_.EndArray();
    json_.Key("timing"), WriteTiming(job_->timing, json_);
    json_.EndObject();
    json_.EndLine();
    done_ = true;
  }

  const std::shared_ptr<const Job> job_;
  std::string text_;
  formats::JsonWriter json_;
  size_t item_ = 0;
  std::optional<detect::DetectionJson> parts_;
  bool done_ = false;
};

void Answer(const ExchangePtr& exchange, const std::shared_ptr<Writer>& writer) {
  auto begun = std::make_shared<std::string>();
  while (begun->size() < kOnePiece && writer->Next(begun.get())) {
  }
  if (begun->size() < kOnePiece) {
    exchange->Send({.body = std::move(*begun)});
    return;
  }
  exchange->Stream({}, [writer, begun](std::string* piece) {
    if (!begun->empty()) {
      piece->swap(*begun);
      return Produced::kPiece;
    }
    while (piece->size() < kPiece) {
      if (!writer->Next(piece)) return piece->empty() ? Produced::kEnd : Produced::kPiece;
    }
    return Produced::kPiece;
  });
}

AlarmCause CauseOf(const Job& job, size_t i, const detect::Alarm& alarm) {
  const engine::SeriesItem& item = job.series.items[i];
  const auto name = [&](int64_t column) { return job.series.targets[static_cast<size_t>(column)]; };
  AlarmCause cause;
  cause.source = "detect";
  cause.kind = std::string(detect::ReasonName(alarm.reason));
  cause.model = job.common.model->name(), cause.item = item.item;
  if (job.series.targets.size() == 1) cause.target = job.series.targets[0];
  cause.score = alarm.peak;
  cause.message =
      StrCat(Join(alarm.columns, ", ", [&](const detect::Contribution& c) { return name(c.column); }),
             " since ", item.TimeText(alarm.begin));
  for (const detect::Cause& before : alarm.causes)
    StrAppend(&cause.message, "; ", name(before.column), " moved at ", item.TimeText(before.moved_row));
  return cause;
}

// An alarm that the item's last row is in stands in the list of alarms until a later request finds it over.
// Of a session also those that began and ended among its new rows.
void Raise(Service& service, const Job& job, size_t i) {
  using detect::Reason;
  const detect::Detection& found = job.found[i];
  const detect::Alarm* lasting = nullptr;
  if (found.rows() > 0 && found.alarm.back() >= 0)
    lasting = &found.alarms[static_cast<size_t>(found.alarm.back())];
  const auto end = [&](const AlarmCause& cause) {
    service.alarms().End(cause.source, cause.kind, cause.model, cause.item, cause.target);
  };
  for (const detect::Alarm& alarm : found.alarms) {
    if (&alarm == lasting || job.session.empty() || alarm.end <= job.answers[i].fresh) continue;
    const AlarmCause cause = CauseOf(job, i, alarm);
    service.alarms().Raise(cause);
    end(cause);
  }
  AlarmCause over = CauseOf(job, i, {});
  for (const Reason reason : {Reason::kPoint, Reason::kSubsequence, Reason::kDrift}) {
    if (lasting != nullptr && lasting->reason == reason) continue;
    over.kind = std::string(detect::ReasonName(reason));
    if (found.rows() > 0) end(over);
  }
  if (lasting != nullptr) service.alarms().Raise(CauseOf(job, i, *lasting));
}

// The rows of one item, by themselves or as the next ones of its session.
StatusOr<detect::Detection> Find(Service& service, Job& job, size_t i, QueueForecaster& forecaster,
                                 StopCheck stop) {
  engine::SeriesItem& item = job.series.items[i];
  if (job.session.empty()) return detect::Detect(forecaster, detect::SeriesOf(item), job.options, stop);
  const DetectSessions::Request request{job.ids[i], &job.series.targets, job.options,
                                        job.common.model->generation};
  PLINTH_ASSIGN_OR_RETURN(auto answer, service.detect_sessions().Score(forecaster, request, &item, stop));
  detect::Detection found = std::move(answer.detection);
  job.answers.push_back(std::move(answer));
  return found;
}

Status Run(Service& service, Job& job, QueueForecaster& forecaster, StopCheck stop) {
  for (size_t i = 0; i < job.series.items.size(); ++i) {
    const engine::SeriesItem& item = job.series.items[i];
    auto found = Find(service, job, i, forecaster, stop);
    if (!found.ok()) {
      const bool plain = absl::IsInvalidArgument(found.status()) && FieldOf(found.status()).empty();
      if (!plain || item.item.empty()) return found.status();
      return absl::InvalidArgumentError(
          StrCat("item ", item.item, ": ", std::string(found.status().message())));
    }
    job.found.push_back(*std::move(found));
  }
  job.timing = forecaster.timing();
  service.recent().Observe(job.series.items, job.series.targets);
  for (size_t i = 0; job.raise && i < job.found.size(); ++i) Raise(service, job, i);
  return absl::OkStatus();
}

void Detect(Service& service, const Request& request, const ExchangePtr& exchange) {
  StatusOr<std::shared_ptr<Job>> read = ReadJob(service, request);
  if (!read.ok()) {
    exchange->Send(ToResponse(read.status()));
    return;
  }
  const std::shared_ptr<Job> job = *std::move(read);
  BesideRequest beside;
  beside.common = job->common;
  int64_t values = 0;
  for (const engine::SeriesItem& item : job->series.items)
    values += item.length() * static_cast<int64_t>(job->series.targets.size());
  beside.brief = !job->session.empty() && values <= kBriefValues;
  beside.exchange = exchange;
  beside.run = [&service, job, exchange](QueueForecaster& forecaster, StopCheck stop) {
    PLINTH_RETURN_IF_ERROR(Run(service, *job, forecaster, stop));
    Answer(exchange, std::make_shared<Writer>(job));
    return absl::OkStatus();
  };
  RunBeside(service, std::move(beside));
}

}  // namespace

std::vector<http::Route> DetectRoutes(Service& service) {
  return {{"POST", "/v1/detect", Scope::kInfer,
           [&service](Request request, const PathNames&, ExchangePtr x) { Detect(service, request, x); }}};
}

}  // namespace plinth::server
