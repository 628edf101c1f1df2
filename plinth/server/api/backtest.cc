// /v1/backtest: how good forecasts of past rows would have been (docs/serving.md).
#include <memory>
#include <optional>

#include "plinth/engine/backtest_run.h"
#include "plinth/formats/json.h"
#include "plinth/server/api/beside.h"
#include "plinth/server/api/routes.h"
#include "plinth/server/bounds.h"
#include "plinth/server/fields.h"
#include "plinth/server/request_fields.h"
#include "plinth/server/series_units.h"
#include "plinth/server/service.h"

namespace plinth::server {
namespace {

using http::ExchangePtr;
using http::PathNames;
using http::Request;
using http::Scope;

constexpr int64_t kMostSteps = int64_t{1} << 30;
constexpr size_t kMostReports = 1000;

struct Job {
  CommonFields common;
  SeriesBody series;
  engine::Together together;
  engine::BacktestOptions options;
};

Status ReadOptions(const JsonField& root, const ServedModel& model, engine::BacktestOptions* o) {
  o->season = 0;
  std::optional<int64_t> horizon, context;
  if (const auto field = root.Find("horizon")) {
    PLINTH_ASSIGN_OR_RETURN(horizon, field->Int(1, kMostHorizon));
  }
  if (const auto field = root.Find("context")) {
    PLINTH_ASSIGN_OR_RETURN(o->context, field->Int(1, kMostSteps));
    // Beyond what the model takes, more still counts for the scale and the seasonal-naive method.
    context = std::min(o->context, model.info().context_length);
  }
  engine::ForecastRequest reach;
  PLINTH_RETURN_IF_ERROR(SetReach(model, horizon, context, "horizon", "context", &reach));
  o->horizon = reach.horizon;
  const std::pair<const char*, int64_t*> counts[] = {
      {"windows", &o->windows}, {"stride", &o->stride}, {"season", &o->season}};
  for (const auto& [name, to] : counts) {
    if (const auto field = root.Find(name)) {
      PLINTH_ASSIGN_OR_RETURN(*to, field->Int(1, kMostSteps));
    }
  }
  if (const auto field = root.Find("report")) {
    PLINTH_ASSIGN_OR_RETURN(const auto elements, field->Elements(kMostReports));
    for (const JsonField& element : elements) {
      PLINTH_ASSIGN_OR_RETURN(o->report.emplace_back(), element.Int(1, o->horizon));
    }
  }
  return absl::OkStatus();
}

// Forecasts that would be made: all of a request's stand in memory while an item is scored.
Status CheckWork(const Job& job, int64_t most) {
  const auto& o = job.options;
  const double stride = static_cast<double>(o.stride > 0 ? o.stride : o.horizon);
  double values = 0;
  for (const engine::SeriesItem& item : job.series.items) {
    const double fit = 1 + static_cast<double>(item.length()) / stride;
    const double windows = std::min(static_cast<double>(o.windows), fit);
    values += windows * static_cast<double>(item.values.size()) * static_cast<double>(o.horizon) * 9;
  }
  if (values <= static_cast<double>(most)) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      StrCat("the forecasts would hold more than ", most,
             " values, the most that one request may (limits.values); ask for fewer windows or series, or a "
             "shorter horizon"));
}

StatusOr<std::shared_ptr<Job>> ReadJob(Service& service, const Request& request) {
  PLINTH_ASSIGN_OR_RETURN(const JsonBody body, JsonBody::Parse(request.body));
  const JsonField root = body.root();
  PLINTH_RETURN_IF_ERROR(
      root.CheckKeys({"model", "series", "freq", "horizon", "windows", "stride", "season", "report",
                      "context", "joint", "cross_learning", "priority", "timeout_seconds"}));
  auto job = std::make_shared<Job>();
  PLINTH_ASSIGN_OR_RETURN(job->common, ReadCommon(service, root));
  const ServedModel& model = *job->common.model;
  PLINTH_RETURN_IF_ERROR(ReadOptions(root, model, &job->options));
  PLINTH_ASSIGN_OR_RETURN(const JsonField series, root.Get("series"));
  const auto settings = service.settings();
  // What is known ahead at an origin are the rows themselves, so nothing lies beyond the last one.
  PLINTH_ASSIGN_OR_RETURN(job->series,
                          ReadSeries(series, job->common.frequency, 0, {settings->series, settings->values}));
  PLINTH_ASSIGN_OR_RETURN(job->together, ReadTogether(root, job->series, model.info()));
  PLINTH_RETURN_IF_ERROR(CheckWork(*job, settings->values));
  return job;
}

std::string NameOf(std::span<const engine::SeriesItem> unit) {
  const engine::SeriesItem& first = unit[0];
  if (unit.size() == 1) {
    return first.item.empty() ? "series" : StrCat("item ", formats::QuotedShort(first.item));
  }
  return first.group.empty() ? "cross_learning" : StrCat("group ", formats::QuotedShort(first.group));
}

std::string Answer(const Job& job, const engine::BacktestRun& run, const Work::Timing& timing) {
  std::string text;
  formats::JsonWriter json(&text);
  const ServedModel& model = *job.common.model;
  const engine::BacktestFacts facts{StrCat("sha256:", model.gate.identity),
                                    evidence::StateName(model.gate.state)};
  json.BeginObject();
  json.Key("model"), json.String(model.name());
  json.Key("identity"), json.String(facts.identity);
  json.Key("evidence"), json.String(facts.evidence);
  json.Key("reports"), json.BeginArray();
  for (size_t r = 0; r < run.backtest().scores().size(); ++r) WriteBacktestJson(run, r, facts, json);
  json.EndArray();
  json.Key("notes"), json.BeginArray();
  for (const engine::SeriesItem& item : job.series.items) {
    for (const std::string& note : item.notes) json.String(note);
  }
  for (const std::string& note : run.Notes()) json.String(note);
  json.EndArray();
  json.Key("timing"), WriteTiming(timing, json);
  json.EndObject();
  json.EndLine();
  return text;
}

Status Run(Job& job, QueueForecaster& forecaster, StopCheck stop, const ExchangePtr& exchange) {
  engine::GroupMaker maker(job.series.Columns(), job.together);
  // The forecaster lives as long as this run does.
  const std::shared_ptr<engine::Forecaster> shared(&forecaster, [](engine::Forecaster*) {});
  engine::BacktestRun run(shared, job.options, maker, {"series", "", &NameOf});
  for (const std::vector<size_t>& unit : UnitsOf(job.series, job.together)) {
    std::vector<engine::SeriesItem> items;
    for (const size_t i : unit) items.push_back(std::move(job.series.items[i]));
    const Status added = run.Add(items, stop);
    for (size_t k = 0; k < unit.size(); ++k) job.series.items[unit[k]] = std::move(items[k]);
    PLINTH_RETURN_IF_ERROR(added);
  }
  PLINTH_RETURN_IF_ERROR(run.Finish());
  exchange->Send({.body = Answer(job, run, forecaster.timing())});
  return absl::OkStatus();
}

void Backtest(Service& service, const Request& request, const ExchangePtr& exchange) {
  StatusOr<std::shared_ptr<Job>> read = ReadJob(service, request);
  if (!read.ok()) {
    exchange->Send(ToResponse(read.status()));
    return;
  }
  const std::shared_ptr<Job> job = *std::move(read);
  BesideRequest beside;
  beside.common = job->common;
  beside.exchange = exchange;
  beside.run = [job, exchange](QueueForecaster& forecaster, StopCheck stop) {
    return Run(*job, forecaster, stop, exchange);
  };
  RunBeside(service, std::move(beside));
}

}  // namespace

std::vector<http::Route> BacktestRoutes(Service& service) {
  return {{"POST", "/v1/backtest", Scope::kInfer,
           [&service](Request request, const PathNames&, ExchangePtr x) { Backtest(service, request, x); }}};
}

}  // namespace plinth::server
