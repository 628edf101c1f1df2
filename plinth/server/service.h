// Is the service: joins models, batcher and endpoints, and stands between them and the sockets.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "plinth/base/clock.h"
#include "plinth/base/context.h"
#include "plinth/server/access.h"
#include "plinth/server/alarms.h"
#include "plinth/server/batcher.h"
#include "plinth/server/detect_sessions.h"
#include "plinth/server/events.h"
#include "plinth/server/http/router.h"
#include "plinth/server/http/site.h"
#include "plinth/server/input_watch.h"
#include "plinth/server/load_window.h"
#include "plinth/server/metrics.h"
#include "plinth/server/model_host.h"
#include "plinth/server/recent_forecasts.h"
#include "plinth/server/service_log.h"
#include "plinth/server/session_store.h"
#include "plinth/server/settings.h"
#include "plinth/server/side_jobs.h"

namespace plinth::server {

// What an error is over HTTP: its status, a word for programs and, where one is named, the field.
http::Response ToResponse(const Status& status);

class Service : public http::Site {
 public:
  struct Parts {
    Settings settings;
    Context context;         // threads of the engine
    std::string key_folder;  // of the local evidence key
  };
  // Error: InvalidArgument, FileError for a file of keys that cannot be used.
  static StatusOr<std::unique_ptr<Service>> Make(Parts parts);
  ~Service() override;

  // Loads every model of the settings. Errors: those of ModelHost::Load, for the first that fails.
  Status LoadModels();

  // What may change does; the keys of what needs a restart are given. Errors: those of reading key files;
  // everything is then as it was.
  StatusOr<std::vector<std::string>> Reload(const Settings& settings);

  // http::Site.
  std::optional<http::Response> Admit(http::Request* head, int64_t body_bytes) override;
  void Handle(http::Request request, http::ExchangePtr exchange) override;
  void Refused(const std::string& peer, int status, std::string_view message) override;

  ModelHost& models() { return *models_; }
  Batcher& batcher() { return *batcher_; }
  SideJobs& jobs() { return *jobs_; }
  Metrics& metrics() { return *metrics_; }
  Access& access() { return *access_; }
  SessionStore& sessions() { return *sessions_; }
  DetectSessions& detect_sessions() { return *detect_sessions_; }
  const ServiceLog& log() const { return *log_; }
  // What the dashboard shows.
  Alarms& alarms() { return *alarms_; }
  Events& events() { return *events_; }
  RecentForecasts& recent() { return *recent_; }
  LoadWindow& load() { return *load_; }
  const InputWatch& input() const { return *input_; }
  const Context& context() const { return context_; }
  int64_t started() const { return started_; }  // Clock::Wall
  // As of now; a copy, since Reload may change it.
  std::shared_ptr<const Settings> settings() const;
  const http::Router& router() const { return *router_; }

  // What is remarkable about a request's series (InputWatch): counted, and an alarm of low priority where the
  // item has a name and watch.alarms is on. `source` tells clients and sessions apart.
  std::vector<InputFinding> LookAtInput(std::string_view model, std::string_view source,
                                        std::span<const engine::SeriesItem> items,
                                        std::span<const std::string> targets);

  // Whether new work is taken, and why not.
  struct Readiness {
    bool ready = false;
    std::vector<std::string> reasons;
  };
  Readiness readiness() const;
  // Takes no new work, and ends streams of events, which would never end by themselves.
  void SetDraining();

  // Puts `work` into the queue for `exchange`: a client that goes drops it, a full queue and a time that has
  // run out are answered here. `finish` is called on the connection's thread with the result. Sets deadline,
  // priority (from `seconds`, `priority`) and what ends the work.
  struct Submission {
    std::unique_ptr<Work> work;
    double seconds = 0;  // 0: the service's own limit
    http::ExchangePtr exchange;
    std::function<void(std::vector<engine::Forecast>, const Work::Timing&)> finish;
  };
  void Submit(Submission submission);

  // Writes the alarms to disk; what could not be written is tried again by itself.
  Status SaveAlarms();

  // Runs `task` on the thread for what takes long and is not the engine's; one after another.
  void RunAside(std::function<void()> task);

  // The model that a request names, or the one that is meant without a name: the alias "incumbent", else the
  // only one. Errors: NotFound; InvalidArgument where several are loaded.
  StatusOr<ModelPtr> ModelFor(std::string_view name) const;

 private:
  class Answer;
  Service() = default;
  void WatchAlarms();

  mutable std::mutex mutex_;
  std::shared_ptr<const Settings> settings_;
  std::unique_ptr<ServiceLog> log_;
  std::unique_ptr<Metrics> metrics_;
  std::unique_ptr<Access> access_;
  std::unique_ptr<Alarms> alarms_;
  std::unique_ptr<Events> events_;
  std::unique_ptr<RecentForecasts> recent_;
  std::unique_ptr<LoadWindow> load_;
  std::unique_ptr<InputWatch> input_;
  Context context_;
  int64_t started_ = 0;
  std::unique_ptr<ModelHost> models_;
  std::unique_ptr<Batcher> batcher_;
  std::unique_ptr<SessionStore> sessions_;
  std::unique_ptr<DetectSessions> detect_sessions_;
  std::unique_ptr<SideJobs> jobs_;
  std::unique_ptr<http::Router> router_;
  std::atomic<bool> draining_ = false, loaded_ = false, alarms_unsaved_ = false;

  // The thread aside.
  std::mutex aside_mutex_;
  std::condition_variable aside_changed_;
  std::deque<std::function<void()>> aside_;
  bool aside_stops_ = false;
  std::thread aside_thread_;
};

}  // namespace plinth::server
