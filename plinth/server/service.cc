#include "plinth/server/service.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "plinth/base/signals.h"
#include "plinth/base/text.h"
#include "plinth/formats/credential.h"
#include "plinth/server/api/routes.h"
#include "plinth/server/fields.h"
#include "plinth/server/trace.h"

namespace plinth::server {
namespace {

using http::ErrorResponse;
using http::ExchangePtr;
using http::Request;
using http::Response;

constexpr auto kSaveAgainAfter = std::chrono::seconds(2);
constexpr std::string_view kOther = "other", kAlarms = "/v1/alarms";

BatchOptions BatchOptionsOf(const Settings& s) {
  return {static_cast<int64_t>(s.window_milliseconds * 1e6), s.most_series, s.preferred_series, s.queue};
}

}  // namespace

Response ToResponse(const Status& status) {
  struct Row {
    absl::StatusCode code;
    int http;
    const char* word;
  };
  constexpr Row kRows[] = {
      {absl::StatusCode::kInvalidArgument, 400, "invalid_argument"},
      {absl::StatusCode::kOutOfRange, 400, "invalid_argument"},
      {absl::StatusCode::kNotFound, 404, "not_found"},
      {absl::StatusCode::kFailedPrecondition, 409, "unproven"},
      {absl::StatusCode::kAlreadyExists, 409, "already_exists"},
      {absl::StatusCode::kDataLoss, 409, "broken"},
      {absl::StatusCode::kResourceExhausted, 503, "out_of_memory"},
      {absl::StatusCode::kPermissionDenied, 403, "forbidden"},
      {absl::StatusCode::kCancelled, 499, "cancelled"},
      {absl::StatusCode::kDeadlineExceeded, 504, "timeout"},
      {absl::StatusCode::kUnavailable, 503, "unavailable"},
      {absl::StatusCode::kUnimplemented, 501, "unimplemented"},
  };
  for (const Row& row : kRows) {
    if (row.code == status.code())
      return ErrorResponse(row.http, row.word, std::string(status.message()), FieldOf(status));
  }
  return ErrorResponse(500, "internal", std::string(status.message()));
}

// Adds to every answer what all have, and counts and logs it.
class Service::Answer : public http::Exchange {
 public:
  Answer(Service& service, const Request& request, const http::Route* route, ExchangePtr to)
      : service_(service),
        to_(std::move(to)),
        id_(request.id),
        traceparent_(request.traceparent),
        method_(request.method),
        target_(request.target),
        peer_(request.peer),
        key_(request.key),
        route_(route == nullptr ? kOther : std::string_view(route->pattern)),
        quiet_(route != nullptr && route->scope == http::Scope::kPublic),
        work_(route != nullptr && route->scope == http::Scope::kInfer &&
              !route->pattern.starts_with(kAlarms)),
        began_(Clock::System().Monotonic()) {}

  void Send(Response response) override {
    Finish(&response, static_cast<int64_t>(response.body.size()));
    to_->Send(std::move(response));
  }
  void Stream(Response head, http::Producer producer) override {
    Finish(&head, -1);
    to_->Stream(std::move(head), std::move(producer));
  }
  void Wake() override { to_->Wake(); }
  void Run(std::function<void()> then) override { to_->Run(std::move(then)); }
  bool gone() const override { return to_->gone(); }
  void OnGone(std::function<void()> then) override { to_->OnGone(std::move(then)); }

 private:
  void Finish(Response* response, int64_t bytes) {
    const double seconds = static_cast<double>(Clock::System().Monotonic() - began_) / 1e9;
    response->fields.emplace_back("x-request-id", id_);
    response->fields.emplace_back("traceparent", traceparent_);
    if (service_.models_->AnyUnproven()) response->fields.emplace_back("plinth-evidence", "unproven");
    service_.metrics_->Answered("http", route_, response->status, seconds);
    if (work_) service_.load_->Answered(response->status, seconds);
    const LogLevel level = response->status >= 500 ? LogLevel::kWarn
                           : quiet_                ? LogLevel::kDebug
                                                   : LogLevel::kInfo;
    if (!service_.log_->Enabled(level)) return;
    service_.log_->Write(level, "request",
                         {{"id", std::string_view(id_)},
                          {"traceparent", std::string_view(traceparent_)},
                          {"method", std::string_view(method_)},
                          {"target", std::string_view(target_).substr(0, 512)},
                          {"status", static_cast<int64_t>(response->status)},
                          {"seconds", seconds},
                          {"bytes", bytes},
                          {"peer", std::string_view(peer_)},
                          {"key", std::string_view(key_)}});
  }

  Service& service_;
  const ExchangePtr to_;
  const std::string id_, traceparent_, method_, target_, peer_, key_;
  const std::string_view route_;
  const bool quiet_, work_;
  const int64_t began_;
};

StatusOr<std::unique_ptr<Service>> Service::Make(Parts parts) {
  auto service = std::unique_ptr<Service>(new Service);
  const Settings& s = parts.settings;
  service->log_ = std::make_unique<ServiceLog>(LogLevelOf(s.log_level));
  service->metrics_ = std::make_unique<Metrics>();
  PLINTH_ASSIGN_OR_RETURN(service->access_, MakeAccess(s));
  if (const std::string credential = CredentialFile(s); !credential.empty()) {
    PLINTH_RETURN_IF_ERROR(formats::UseCredentialFile(credential));
  }
  ModelHost::Options host;
  host.context = parts.context;
  host.evidence_keys = s.evidence_keys;
  host.evidence_folder = s.evidence_folder;
  host.key_folder = parts.key_folder;
  host.allow_unproven = s.allow_unproven;
  host.most_series = s.most_series;
  host.most_horizon = s.horizon;
  service->models_ = std::make_unique<ModelHost>(std::move(host));
  service->batcher_ = std::make_unique<Batcher>(BatchOptionsOf(s));
  service->sessions_ = std::make_unique<SessionStore>(
      SessionStore::Options{s.sessions, s.session_idle_seconds * 1'000'000'000});
  service->detect_sessions_ = std::make_unique<DetectSessions>(
      DetectSessions::Options{s.sessions, s.session_idle_seconds * 1'000'000'000});
  service->jobs_ = std::make_unique<SideJobs>(s.jobs);
  PLINTH_ASSIGN_OR_RETURN(service->alarms_, Alarms::Open({.folder = s.state_folder}));
  service->events_ = std::make_unique<Events>(Events::Options{});
  service->recent_ = std::make_unique<RecentForecasts>(RecentForecasts::Options{});
  service->load_ = std::make_unique<LoadWindow>();
  service->input_ = std::make_unique<InputWatch>(
      InputWatch::Options{s.watch_input, static_cast<size_t>(s.watch_series),
                          s.watch_idle_seconds * 1'000'000'000, s.watch_gap_share});
  service->context_ = parts.context;
  service->started_ = Clock::System().Wall();
  service->WatchAlarms();
  service->settings_ = std::make_shared<const Settings>(std::move(parts.settings));
  std::vector<http::Route> routes;
  for (auto* group :
       {&HealthRoutes, &ModelRoutes, &ForecastRoutes, &DetectRoutes, &BacktestRoutes, &OipRoutes,
        &ConfigRoutes, &StatusRoutes, &AlarmRoutes, &DashboardRoutes, &OpenApiRoutes}) {
    for (http::Route& route : (*group)(*service)) routes.push_back(std::move(route));
  }
  service->router_ = std::make_unique<http::Router>(std::move(routes));
  return service;
}

Service::~Service() {
  // Results find the rest still there. Jobs ask the batcher until they end.
  jobs_.reset();
  batcher_.reset();
  {
    const std::lock_guard lock(aside_mutex_);
    aside_stops_ = true;
  }
  aside_changed_.notify_one();
  if (aside_thread_.joinable()) aside_thread_.join();
  if (alarms_ != nullptr) (void)alarms_->Save();
}

void Service::SetDraining() {
  draining_ = true;
  events_->Close();
}

// Who looks on hears of each change at once; the disk has it a moment later.
void Service::WatchAlarms() {
  alarms_->OnChange([this](const Alarm& alarm) {
    std::string json;
    formats::JsonWriter w(&json);
    WriteAlarm(alarm, w);
    events_->Publish("alarm", json);
    RunAside([this] {
      const Status saved = SaveAlarms();
      if (saved.ok()) return;
      log_->Write(LogLevel::kError, "alarms_not_saved",
                  {{"error", std::string_view(saved.message().data(), saved.message().size())}});
    });
  });
}

Status Service::SaveAlarms() {
  const Status saved = alarms_->Save();
  alarms_unsaved_ = !saved.ok();
  return saved;
}

void Service::RunAside(std::function<void()> task) {
  const std::lock_guard lock(aside_mutex_);
  aside_.push_back(std::move(task));
  if (!aside_thread_.joinable()) {
    aside_thread_ = std::thread([this] {
      BlockSignals();
      std::unique_lock lock(aside_mutex_);
      while (true) {
        const auto called = [&] { return aside_stops_ || !aside_.empty(); };
        if (!alarms_unsaved_) {
          aside_changed_.wait(lock, called);
        } else if (!aside_changed_.wait_for(lock, kSaveAgainAfter, called)) {
          // A full disk may have room again.
          lock.unlock();
          if (SaveAlarms().ok()) log_->Write(LogLevel::kInfo, "alarms_saved", {});
          lock.lock();
          continue;
        }
        if (aside_.empty()) return;
        const std::function<void()> next = std::move(aside_.front());
        aside_.pop_front();
        lock.unlock();
        next();
        lock.lock();
      }
    });
  }
  aside_changed_.notify_one();
}

Status Service::LoadModels() {
  for (const ModelSetting& setting : settings()->models) {
    const auto model = models_->Load(setting);
    if (!model.ok()) return model.status();
    log_->Write(LogLevel::kInfo, "model",
                {{"name", std::string_view((*model)->name())},
                 {"digest", std::string_view((*model)->model_digest)},
                 {"evidence", evidence::StateName((*model)->gate.state)},
                 {"sentence", std::string_view((*model)->gate.sentence)}});
  }
  loaded_ = true;
  return absl::OkStatus();
}

StatusOr<std::vector<std::string>> Service::Reload(const Settings& fresh) {
  PLINTH_RETURN_IF_ERROR(access_->Reload(fresh));
  std::vector<std::string> restart = NeedRestart(*settings(), fresh);
  auto kept = std::make_shared<Settings>(*settings());
  for (const Setting& setting : AllSettings()) {
    if (!setting.reloadable) continue;
    std::visit([&](auto member) { (*kept).*member = fresh.*member; }, setting.member);
    const auto origin = fresh.origins.find(setting.key);
    if (origin != fresh.origins.end()) kept->origins[std::string(setting.key)] = origin->second;
  }
  log_->SetLevel(LogLevelOf(kept->log_level));
  batcher_->SetOptions(BatchOptionsOf(*kept));
  jobs_->SetMostWaiting(kept->jobs);
  const std::lock_guard lock(mutex_);
  settings_ = std::move(kept);
  return restart;
}

std::shared_ptr<const Settings> Service::settings() const {
  const std::lock_guard lock(mutex_);
  return settings_;
}

std::vector<InputFinding> Service::LookAtInput(std::string_view model, std::string_view source,
                                               std::span<const engine::SeriesItem> items,
                                               std::span<const std::string> targets) {
  constexpr int kMostAlarms = 16;  // that one request may raise
  InputWatch::Result seen = input_->Look({model, source, items, targets});
  for (const InputFinding& f : seen.findings) metrics_->InputFound(model, InputKindName(f.kind));
  if (!settings()->watch_alarms) return std::move(seen.findings);
  for (const InputWatch::Over& over : seen.over) {
    alarms_->End("input", InputKindName(over.kind), model, items[over.item].item, targets[over.target]);
  }
  int raised = 0;
  for (const InputFinding& f : seen.findings) {
    const std::string& item = items[f.item].item;
    if (item.empty() || ++raised > kMostAlarms) continue;
    alarms_->Raise({"input", std::string(InputKindName(f.kind)), std::string(model), item, targets[f.target],
                    AlarmPriority::kLow, StrCat(InputKindName(f.kind), ": ", f.message), f.score});
  }
  return std::move(seen.findings);
}

Service::Readiness Service::readiness() const {
  Readiness r;
  if (draining_) r.reasons.emplace_back("the service is about to stop");
  if (!loaded_) r.reasons.emplace_back("models are being loaded");
  if (loaded_ && models_->All().empty()) r.reasons.emplace_back("no model is loaded");
  if (batcher_->state().waiting >= settings()->queue) r.reasons.emplace_back("the queue is full");
  r.ready = r.reasons.empty();
  return r;
}

std::optional<Response> Service::Admit(Request* head, int64_t) {
  head->id = RequestId(head->Field("x-request-id"));
  head->traceparent = TraceParent(head->Field("traceparent"));
  const http::Found found = router_->Find(head->method, head->path);
  const auto refuse = [&](Response response) {
    response.fields.emplace_back("x-request-id", head->id);
    response.fields.emplace_back("traceparent", head->traceparent);
    metrics_->Answered("http", found.route == nullptr ? kOther : std::string_view(found.route->pattern),
                       response.status, 0);
    return response;
  };
  if (!found.wrong.empty()) return refuse(ErrorResponse(400, "bad_path", found.wrong));
  if (found.route == nullptr && found.allow.empty()) {
    return refuse(
        ErrorResponse(404, "no_such_path", StrCat("there is nothing at ", head->path.substr(0, 200))));
  }
  if (found.route == nullptr) {
    Response response =
        ErrorResponse(405, "method", StrCat(head->path.substr(0, 200), " takes ", found.allow));
    if (head->method == "OPTIONS") response = {.status = 204};
    response.fields.emplace_back("allow", StrCat(found.allow, ", OPTIONS"));
    return refuse(std::move(response));
  }
  if (auto refusal = access_->Check(*head, found.route->scope, &head->key))
    return refuse(*std::move(refusal));
  const std::string_view encoding = head->Field("content-encoding");
  if (!encoding.empty() && encoding != "identity") {
    return refuse(ErrorResponse(415, "encoding",
                                StrCat("the body is encoded as ", encoding.substr(0, 40),
                                       "; send it as it is, without content-encoding")));
  }
  return std::nullopt;
}

void Service::Handle(Request request, ExchangePtr exchange) {
  const http::Found found = router_->Find(request.method, request.path);
  auto answer = std::make_shared<Answer>(*this, request, found.route, std::move(exchange));
  if (found.route == nullptr) {
    answer->Send(ErrorResponse(404, "no_such_path", "there is nothing here"));
    return;
  }
  try {
    found.route->handler(std::move(request), found.names, answer);
  } catch (const std::bad_alloc&) {
    answer->Send(ErrorResponse(503, "out_of_memory", "memory ran out; send fewer or shorter series at once"));
  }
}

void Service::Refused(const std::string& peer, int status, std::string_view message) {
  metrics_->Malformed(status);
  log_->Write(
      LogLevel::kInfo, "refused",
      {{"peer", std::string_view(peer)}, {"status", static_cast<int64_t>(status)}, {"message", message}});
}

StatusOr<ModelPtr> Service::ModelFor(std::string_view name) const {
  if (!name.empty()) {
    if (ModelPtr model = models_->Find(name)) return model;
    return absl::NotFoundError(StrCat("no model is named \"", name.substr(0, 200), "\""));
  }
  if (ModelPtr model = models_->Find("incumbent")) return model;
  const std::vector<ModelPtr> all = models_->All();
  if (all.size() == 1) return all[0];
  return FieldError("model", all.empty()
                                 ? "no model is loaded"
                                 : StrCat("is missing; loaded are ",
                                          Join(all, ", ", [](const ModelPtr& m) { return m->name(); })));
}

void Service::Submit(Submission submission) {
  Work& work = *submission.work;
  const std::shared_ptr<const Settings> s = settings();
  const double seconds =
      submission.seconds > 0 ? std::min(submission.seconds, s->request_seconds) : s->request_seconds;
  work.deadline = Clock::System().Monotonic() + static_cast<int64_t>(seconds * 1e9);
  work.dropped = std::make_shared<std::atomic<bool>>(false);
  const std::string model = work.model->name();
  int64_t series = 0;
  for (const engine::Group& group : work.groups) series += static_cast<int64_t>(group.rows.size());
  work.done = [this, exchange = submission.exchange, finish = std::move(submission.finish), model, series](
                  StatusOr<std::vector<engine::Forecast>> result, const Work::Timing& timing) {
    if (!result.ok()) {
      exchange->Send(ToResponse(result.status()));
      return;
    }
    metrics_->Computed(model, static_cast<double>(timing.queued) / 1e9,
                       static_cast<double>(timing.computed) / 1e9, series, timing.batch_series);
    load_->Computed(timing.batch_series);
    auto shared = std::make_shared<std::vector<engine::Forecast>>(*std::move(result));
    exchange->Run([finish, shared, timing] { finish(std::move(*shared), timing); });
  };
  const auto dropped = work.dropped;
  const Status queued = batcher_->Submit(submission.work);
  if (!queued.ok()) {
    Response response = ErrorResponse(429, "queue_full", std::string(queued.message()));
    response.fields.emplace_back("retry-after", StrCat(batcher_->RetryAfter()));
    submission.exchange->Send(std::move(response));
    return;
  }
  submission.exchange->OnGone([this, dropped] { batcher_->Drop(dropped); });
}

}  // namespace plinth::server
