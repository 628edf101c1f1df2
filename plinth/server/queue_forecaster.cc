#include "plinth/server/queue_forecaster.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <iterator>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

namespace plinth::server {
namespace {

// How long it takes to notice that nobody wants the result, or that the queue has room again.
constexpr auto kLook = std::chrono::milliseconds(10);

// Where the batcher leaves a result.
struct Tray {
  std::mutex mutex;
  std::condition_variable filled;
  std::optional<StatusOr<std::vector<engine::Forecast>>> result;
  Work::Timing timing;
};

}  // namespace

int64_t QueueForecaster::most_horizon() const {
  return std::min(model_->info().horizon, model_->bounds.horizon);
}

int64_t QueueForecaster::most_context() const {
  return std::min(model_->info().context_length, model_->bounds.context);
}

Status QueueForecaster::Submit(std::unique_ptr<Work> work, StopCheck cancelled) {
  while (true) {
    const Status status = batcher_.Submit(work);
    if (!absl::IsResourceExhausted(status)) return status;
    if (cancelled()) return absl::CancelledError("interrupted");
    std::this_thread::sleep_for(kLook);
  }
}

StatusOr<std::vector<engine::Forecast>> QueueForecaster::RunPart(std::span<const engine::Group> groups,
                                                                 const engine::ForecastRequest& request,
                                                                 StopCheck cancelled) {
  const auto tray = std::make_shared<Tray>();
  auto work = std::make_unique<Work>();
  work->model = model_;
  work->request = request;
  work->groups.assign(groups.begin(), groups.end());
  work->priority = options_.priority;
  work->deadline = options_.deadline;
  work->dropped = std::make_shared<std::atomic<bool>>(false);
  work->done = [tray](StatusOr<std::vector<engine::Forecast>> result, const Work::Timing& timing) {
    const std::lock_guard lock(tray->mutex);
    tray->result = std::move(result);
    tray->timing = timing;
    tray->filled.notify_one();
  };
  const auto dropped = work->dropped;
  PLINTH_RETURN_IF_ERROR(Submit(std::move(work), cancelled));
  std::unique_lock lock(tray->mutex);
  // Also where nobody wants it any more: the batcher may be looking at the groups until it says so.
  while (!tray->filled.wait_for(lock, kLook, [&] { return tray->result.has_value(); })) {
    if (!cancelled() || *dropped) continue;
    lock.unlock();
    batcher_.Drop(dropped);
    lock.lock();
  }
  timing_.queued += tray->timing.queued;
  timing_.computed += tray->timing.computed;
  return *std::move(tray->result);
}

StatusOr<std::vector<engine::Forecast>> QueueForecaster::Run(std::span<const engine::Group> groups,
                                                             const engine::ForecastRequest& request,
                                                             StopCheck cancelled) {
  std::vector<engine::Forecast> all;
  for (size_t begin = 0; begin < groups.size();) {
    int64_t series = 0;
    size_t end = begin;
    for (; end < groups.size(); ++end) {
      const int64_t more = static_cast<int64_t>(groups[end].rows.size());
      if (end > begin && series + more > options_.most_series) break;
      series += more;
    }
    if (cancelled()) return absl::CancelledError("interrupted");
    PLINTH_ASSIGN_OR_RETURN(auto part, RunPart(groups.subspan(begin, end - begin), request, cancelled));
    all.insert(all.end(), std::make_move_iterator(part.begin()), std::make_move_iterator(part.end()));
    timing_.batch_series += series;
    begin = end;
  }
  return all;
}

}  // namespace plinth::server
