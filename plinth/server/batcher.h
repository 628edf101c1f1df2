// Gathers requests into batches for the engine, and gives each its own result.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "plinth/base/clock.h"
#include "plinth/engine/session.h"
#include "plinth/server/model_host.h"

namespace plinth::server {

// What a request wants of the engine. Requests of one model, horizon, context and levels run together; each
// result has the bits that it would have alone.
struct Work {
  ModelPtr model;
  engine::ForecastRequest request;
  std::vector<engine::Group> groups;
  std::shared_ptr<const void> owner;  // keeps alive what the groups point into
  int priority = 0;                   // higher ones run first; equal ones in the order they came
  int64_t deadline = 0;               // Clock::Monotonic; 0: none
  // Batcher::Drop sets it when nobody wants the result any more; null: somebody always does.
  std::shared_ptr<std::atomic<bool>> dropped;

  struct Timing {
    int64_t queued = 0, computed = 0;  // nanoseconds: in the queue; in the engine, with its batch
    int64_t batch_series = 0;          // series of the batch it ran in
  };
  // Called once, on the engine's thread. Errors: those of Session::Run; DeadlineExceeded; Cancelled for what
  // was dropped; Unavailable when the service stops.
  std::function<void(StatusOr<std::vector<engine::Forecast>>, const Timing&)> done;
};

struct BatchOptions {
  int64_t window_nanoseconds = 2'000'000;
  int64_t most_series = 256, preferred_series = 32;
  int64_t queue = 256;
};

// One thread that feeds the engine, whose own threads do the work. A request that finds it idle runs at once;
// while a batch runs, others gather, and the next batch waits for more of them at most the window, counted
// from the arrival of the oldest, and not at all once it has its preferred size. A request of many series
// runs in parts, between which others have their turn.
class Batcher {
 public:
  explicit Batcher(BatchOptions options, const Clock& clock = Clock::System());
  // Ends what waits with Unavailable, and what runs at its end.
  ~Batcher();

  // Error: ResourceExhausted where the queue is full; `work` is then as it was.
  Status Submit(std::unique_ptr<Work>& work);
  // Nobody wants the result of the work with this `dropped` any more. It leaves the queue; a batch stops
  // between two steps once nobody wants anything of it.
  void Drop(const std::shared_ptr<std::atomic<bool>>& dropped);
  void SetOptions(const BatchOptions& options);
  // Waits until nothing waits or runs, at most so long; whether it came to that.
  bool Drain(int64_t nanoseconds);

  struct State {
    int64_t waiting = 0, running = 0;   // requests
    int64_t batches = 0, requests = 0;  // finished
    int64_t series = 0;                 // of finished batches
    int64_t busy_nanoseconds = 0;       // of the engine
  };
  State state() const;
  // Seconds after which a refused request may come again: what waits, at the rate of the last batches.
  int64_t RetryAfter() const;

 private:
  struct Waiting {
    std::unique_ptr<Work> work;
    int64_t came = 0, started = 0, computed = 0;
    size_t next = 0;     // the first group that has not run
    bool alone = false;  // it was part of a batch that failed: whose fault that was will show
    std::vector<engine::Forecast> results;
  };
  using Queue = std::list<Waiting>;
  // Groups [begin, end) of one request.
  struct Slice {
    Queue::iterator of;
    size_t begin, end;
  };

  void Loop();
  // Ends what waits and has run out of time, without waiting for the batch that runs.
  void Watch();
  // Ends what has run out of time or was dropped, but for what runs. Unlocks while it does.
  void EndExpired(std::unique_lock<std::mutex>& lock);
  // The next request to run; the queue is not empty.
  Queue::iterator First();
  std::vector<Slice> Gather(Queue::iterator first) const;
  void Run(std::unique_lock<std::mutex>& lock, const std::vector<Slice>& slices);
  static void End(Waiting waiting, const Status& status, int64_t batch_series);
  bool Runs(Queue::iterator one) const;
  bool Wanted(const Waiting& waiting) const { return !waiting.work->dropped || !*waiting.work->dropped; }

  const Clock& clock_;
  mutable std::mutex mutex_;
  std::condition_variable changed_, idle_, watched_;
  BatchOptions options_;
  Queue waiting_;  // in the order they came; what runs in part goes to the end
  std::vector<Slice> running_;
  std::atomic<bool> nobody_wants_ = false;  // what runs
  bool stopping_ = false;
  bool look_again_ = false;    // something changed that Watch has not seen
  int64_t watched_until_ = 0;  // when Watch looks again; 0: when it is told
  int64_t ended_ = 0;          // when the last batch did
  State state_;
  double nanoseconds_per_request_ = 0;  // smoothed
  std::thread thread_, watch_;
};

}  // namespace plinth::server
