// /v1/forecast: quantile forecasts of a ragged batch of series (docs/serving.md).
#include <algorithm>
#include <cmath>
#include <optional>

#include "plinth/engine/forecast_json.h"
#include "plinth/engine/grouping.h"
#include "plinth/formats/json.h"
#include "plinth/series/quantiles.h"
#include "plinth/server/api/routes.h"
#include "plinth/server/bounds.h"
#include "plinth/server/fields.h"
#include "plinth/server/request_fields.h"
#include "plinth/server/series_body.h"
#include "plinth/server/series_units.h"
#include "plinth/server/service.h"

namespace plinth::server {
namespace {

using http::ExchangePtr;
using http::PathNames;
using http::Produced;
using http::Request;
using http::Response;
using http::Scope;

// Answers up to here go out in one piece; larger ones item by item.
constexpr size_t kOnePiece = 1 << 20;

// One request on its way: what was asked, and what the engine's groups point into.
struct Job {
  ModelPtr model;
  SeriesBody series;
  engine::Together together;
  engine::ForecastRequest request;
  std::vector<double> levels;  // asked for; request.levels has the median, too
  std::optional<engine::GroupMaker> maker;
  std::vector<size_t> order;  // place in the results of each item's first target
  double seconds = 0;
  int priority = 0;
  std::vector<InputFinding> input;  // what the input watch found
  bool appended = false;            // rows without times to those of a session
};

// "level": [80, 95] are intervals, each two quantiles.
StatusOr<std::vector<double>> ReadLevels(const JsonField& root) {
  const auto quantiles = root.Find("quantiles"), intervals = root.Find("level");
  if (quantiles && intervals) return FieldError("level", "is given beside quantiles; give one of them");
  std::vector<double> levels = series::Deciles();
  constexpr size_t kMost = 1000;
  if (quantiles) {
    PLINTH_RETURN_IF_ERROR(quantiles->Numbers(kMost, false, &levels));
  } else if (intervals) {
    std::vector<double> percents;
    PLINTH_RETURN_IF_ERROR(intervals->Numbers(kMost, false, &percents));
    levels = {0.5};
    for (const double percent : percents) {
      if (!(percent > 0 && percent < 100))
        return FieldError("level", "is expected to hold percents between 0 and 100");
      levels.push_back(0.5 - percent / 200);
      levels.push_back(0.5 + percent / 200);
    }
  }
  auto normal = series::NormaliseQuantiles(levels);
  if (!normal.ok())
    return FieldError(intervals ? "level" : "quantiles", std::string(normal.status().message()));
  return normal;
}

// Lets each item go on from its session's history.
Status Continue(Service& service, const Request& request, const JsonField& session, SeriesBody* body) {
  PLINTH_ASSIGN_OR_RETURN(const std::string name, ReadSessionName(session, *body));
  for (engine::SeriesItem& item : body->items) {
    PLINTH_RETURN_IF_ERROR(
        service.sessions().Extend(SessionId(request, name, item.item), body->targets, &item));
  }
  return absl::OkStatus();
}

StatusOr<std::shared_ptr<Job>> ReadJob(Service& service, const Request& request) {
  PLINTH_ASSIGN_OR_RETURN(const JsonBody body, JsonBody::Parse(request.body));
  const JsonField root = body.root();
  PLINTH_RETURN_IF_ERROR(
      root.CheckKeys({"model", "series", "freq", "horizon", "context", "quantiles", "level", "seed",
                      "session", "joint", "cross_learning", "priority", "timeout_seconds"}));
  auto job = std::make_shared<Job>();
  PLINTH_ASSIGN_OR_RETURN(const CommonFields common, ReadCommon(service, root));
  job->model = common.model, job->seconds = common.seconds, job->priority = common.priority;
  const models::ModelInfo& info = job->model->info();
  engine::ForecastRequest& wanted = job->request;
  std::optional<int64_t> horizon, context;
  if (const auto field = root.Find("horizon")) {
    PLINTH_ASSIGN_OR_RETURN(horizon, field->Int(1, kMostHorizon));
  }
  if (const auto field = root.Find("context")) {
    PLINTH_ASSIGN_OR_RETURN(context, field->Int(1, info.context_length));
  }
  PLINTH_RETURN_IF_ERROR(SetReach(*job->model, horizon, context, "horizon", "context", &wanted));
  PLINTH_ASSIGN_OR_RETURN(job->levels, ReadLevels(root));
  wanted.levels = WithMedian(job->levels);
  if (const auto field = root.Find("seed")) {
    PLINTH_RETURN_IF_ERROR(field->Int(0, int64_t{1} << 53).status());
  }
  PLINTH_ASSIGN_OR_RETURN(const JsonField series, root.Get("series"));
  const auto settings = service.settings();
  PLINTH_ASSIGN_OR_RETURN(job->series, ReadSeries(series, common.frequency, wanted.horizon,
                                                  {settings->series, settings->values}));
  PLINTH_RETURN_IF_ERROR(CheckAnswerSize(
      static_cast<int64_t>(job->series.items.size() * job->series.targets.size()), wanted, settings->values));
  std::string source = request.key;
  if (const auto field = root.Find("session")) {
    PLINTH_RETURN_IF_ERROR(Continue(service, request, *field, &job->series));
    job->appended = job->series.items[0].numbered;
    source += StrCat("\n", field->Text().value_or(""));
  }
  job->input = service.LookAtInput(job->model->name(), source, job->series.items, job->series.targets);
  PLINTH_ASSIGN_OR_RETURN(job->together, ReadTogether(root, job->series, info));
  return job;
}

void MakeGroups(Job* job) {
  job->maker.emplace(job->series.Columns(), job->together);
  job->order.resize(job->series.items.size());
  size_t place = 0;
  for (const std::vector<size_t>& unit : UnitsOf(job->series, job->together)) {
    std::vector<engine::Window> windows;
    for (const size_t i : unit) {
      windows.push_back({&job->series.items[i], job->series.items[i].length()});
      job->order[i] = place;
      place += job->series.targets.size();
    }
    job->maker->Add(windows, job->request.horizon);
  }
}

// Writes the answer piece by piece.
class Writer {
 public:
  Writer(std::shared_ptr<const Job> job, std::vector<engine::Forecast> forecasts, const Work::Timing& timing)
      : job_(std::move(job)), forecasts_(std::move(forecasts)), timing_(timing), json_(&text_) {
    const auto& all = job_->request.levels;
    median_ = static_cast<size_t>(std::lower_bound(all.begin(), all.end(), 0.5) - all.begin());
    const ServedModel& model = *job_->model;
    json_.BeginObject();
    json_.Key("model"), json_.String(model.name());
    json_.Key("identity"), json_.String(StrCat("sha256:", model.gate.identity));
    json_.Key("evidence"), json_.String(evidence::StateName(model.gate.state));
    json_.Key("items"), json_.BeginArray();
  }

  // About as many bytes as the whole will have.
  size_t Estimate() const {
    return forecasts_.size() * static_cast<size_t>(job_->request.horizon) * (job_->levels.size() + 2) * 20;
  }

  // Appends the next part to `piece`; false once there is nothing more.
  bool Next(std::string* piece) {
    if (done_) return false;
    const size_t targets = job_->series.targets.size();
    if (next_ < job_->series.items.size()) {
      for (size_t t = 0; t < targets; ++t) Item(next_, t);
      ++next_;
    } else {
      json_.EndArray();
      Notes();
      if (!job_->input.empty()) {
        json_.Key("input");
        WriteFindings(job_->input, job_->series.items, job_->series.targets, json_);
      }
      json_.Key("timing"), json_.BeginObject();
      json_.Key("queue_seconds"), json_.Number(static_cast<double>(timing_.queued) / 1e9);
      json_.Key("compute_seconds"), json_.Number(static_cast<double>(timing_.computed) / 1e9);
      json_.Key("batch_series"), json_.Int(timing_.batch_series);
      json_.EndObject();
      json_.EndObject();
      json_.EndLine();
      done_ = true;
    }
    *piece += text_;
    text_.clear();
    return true;
  }

 private:
  void Item(size_t i, size_t target) {
    const std::vector<double>& values = forecasts_[job_->order[i] + target].values;
    const size_t all = job_->request.levels.size(), horizon = static_cast<size_t>(job_->request.horizon);
    medians_.resize(horizon);
    for (size_t h = 0; h < horizon; ++h) medians_[h] = values[h * all + median_];
    std::span<const double> shown = values;
    if (all != job_->levels.size()) {
      kept_.clear();
      for (size_t v = 0; v < values.size(); ++v) {
        if (v % all != median_) kept_.push_back(values[v]);
      }
      shown = kept_;
    }
    engine::WriteForecastJson({&job_->series.items[i], target, job_->series.targets[target], shown, medians_},
                              job_->levels, json_);
  }

  void Notes() {
    json_.Key("notes"), json_.BeginArray();
    for (const engine::SeriesItem& item : job_->series.items) {
      for (const std::string& note : item.notes) json_.String(note);
      for (size_t t = 0; t < item.values.size(); ++t) {
        const std::vector<double>& y = item.values[t];
        if (!std::all_of(y.begin(), y.end(), [](double v) { return std::isnan(v); })) continue;
        json_.String(StrCat(item.item.empty() ? "" : StrCat("item ", formats::QuotedShort(item.item), ", "),
                            "target ", formats::QuotedShort(job_->series.targets[t]),
                            " holds no value; its forecast says nothing"));
      }
    }
    if (job_->appended) {
      json_.String(
          "rows without times stand behind those of earlier requests of the session: the same request, "
          "sent again, is appended again");
    }
    for (const std::string& note : job_->maker->notes()) json_.String(note);
    json_.EndArray();
  }

  const std::shared_ptr<const Job> job_;
  const std::vector<engine::Forecast> forecasts_;
  const Work::Timing timing_;
  std::string text_;
  formats::JsonWriter json_;
  size_t median_ = 0, next_ = 0;
  bool done_ = false;
  std::vector<double> medians_, kept_;
};

void Answer(const ExchangePtr& exchange, std::shared_ptr<Writer> writer) {
  if (writer->Estimate() > kOnePiece) {
    exchange->Stream({}, [writer](std::string* piece) {
      constexpr size_t kPiece = 64 << 10;
      while (piece->size() < kPiece) {
        if (!writer->Next(piece)) return Produced::kEnd;
      }
      return Produced::kPiece;
    });
    return;
  }
  Response response;
  while (writer->Next(&response.body)) {
  }
  exchange->Send(std::move(response));
}

// For the dashboard.
void Remember(Service& service, const Job& job, const std::vector<engine::Forecast>& forecasts) {
  service.recent().Keep({job.model->name(), evidence::StateName(job.model->gate.state), job.series.items,
                         job.series.targets, job.request.levels},
                        [&](size_t item, size_t target) -> std::span<const double> {
                          return forecasts[job.order[item] + target].values;
                        });
  service.events().Publish("forecast", "{}");
}

void Forecast(Service& service, const Request& request, const ExchangePtr& exchange) {
  StatusOr<std::shared_ptr<Job>> read = ReadJob(service, request);
  if (!read.ok()) {
    exchange->Send(ToResponse(read.status()));
    return;
  }
  const std::shared_ptr<Job> job = *std::move(read);
  MakeGroups(job.get());
  auto work = std::make_unique<Work>();
  work->model = job->model;
  work->request = job->request;
  work->groups.assign(job->maker->groups().begin(), job->maker->groups().end());
  work->owner = job;
  work->priority = job->priority;
  service.Submit(
      {std::move(work), job->seconds, exchange,
       [&service, job, exchange](std::vector<engine::Forecast> forecasts, const Work::Timing& timing) {
         Remember(service, *job, forecasts);
         Answer(exchange, std::make_shared<Writer>(job, std::move(forecasts), timing));
       }});
}

}  // namespace

std::vector<http::Route> ForecastRoutes(Service& service) {
  return {{"POST", "/v1/forecast", Scope::kInfer,
           [&service](Request request, const PathNames&, ExchangePtr x) { Forecast(service, request, x); }}};
}

}  // namespace plinth::server
