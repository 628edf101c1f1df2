#include "plinth/server/api/beside.h"

#include <algorithm>

#include "plinth/base/clock.h"
#include "plinth/base/text.h"
#include "plinth/server/service.h"

namespace plinth::server {

void RunBeside(Service& service, BesideRequest request) {
  const auto settings = service.settings();
  const CommonFields& common = request.common;
  const double seconds =
      common.seconds > 0 ? std::min(common.seconds, settings->request_seconds) : settings->request_seconds;
  SideJob job;
  job.priority = common.priority;
  job.brief = request.brief;
  job.deadline = Clock::System().Monotonic() + static_cast<int64_t>(seconds * 1e9);
  const QueueForecaster::Options options{settings->preferred_series, common.priority, job.deadline};
  const http::ExchangePtr exchange = request.exchange;
  job.run = [&service, options, model = common.model, run = std::move(request.run)](Threads& threads,
                                                                                    StopCheck stop) {
    QueueForecaster forecaster(service.batcher(), model, threads, options);
    PLINTH_RETURN_IF_ERROR(run(forecaster, stop));
    const Work::Timing& timing = forecaster.timing();
    service.metrics().Computed(model->name(), static_cast<double>(timing.queued) / 1e9,
                               static_cast<double>(timing.computed) / 1e9, timing.batch_series,
                               std::min(timing.batch_series, options.most_series));
    return absl::OkStatus();
  };
  job.failed = [exchange](const Status& status) { exchange->Send(ToResponse(status)); };
  const auto handle = service.jobs().Submit(std::move(job));
  if (!handle.ok()) {
    http::Response response = http::ErrorResponse(429, "queue_full", std::string(handle.status().message()));
    response.fields.emplace_back("retry-after", StrCat(service.batcher().RetryAfter()));
    exchange->Send(std::move(response));
    return;
  }
  exchange->OnGone([&service, handle = *handle] { service.jobs().Drop(handle); });
}

void WriteTiming(const Work::Timing& timing, formats::JsonWriter& json) {
  json.BeginObject();
  json.Key("queue_seconds"), json.Number(static_cast<double>(timing.queued) / 1e9);
  json.Key("compute_seconds"), json.Number(static_cast<double>(timing.computed) / 1e9);
  json.Key("series"), json.Int(timing.batch_series);
  json.EndObject();
}

}  // namespace plinth::server
