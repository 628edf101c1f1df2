// Runs what asks the engine many times and computes between (detections, backtests) beside the batches, on
// threads of its own, so that forecasts do not wait for it.
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
#include "plinth/base/interrupt.h"
#include "plinth/base/status.h"
#include "plinth/base/threads.h"

namespace plinth::server {

struct SideJob {
  // On a thread of the jobs, with its pool of one thread. Answers the client unless it gives an error.
  std::function<Status(Threads&, StopCheck)> run;
  // Called once where the job did not run or gave an error: DeadlineExceeded; Cancelled for what was dropped;
  // Unavailable when the service stops; else what `run` gave.
  std::function<void(const Status&)> failed;
  int priority = 0;      // higher ones run first; equal ones in the order they came
  int64_t deadline = 0;  // Clock::Monotonic; 0: none. What runs is then stopped
  bool brief = false;    // takes milliseconds; need not wait for one that takes minutes
};

// Two threads of low priority to the system: one runs any job, the other only brief ones.
class SideJobs {
 public:
  explicit SideJobs(int64_t most_waiting, const Clock& clock = Clock::System());
  // Stops what runs and ends what waits.
  ~SideJobs();
  SideJobs(const SideJobs&) = delete;
  SideJobs& operator=(const SideJobs&) = delete;

  // Stays good after its job has ended.
  using Handle = std::shared_ptr<std::atomic<bool>>;
  // Error: ResourceExhausted where too many wait.
  StatusOr<Handle> Submit(SideJob job);
  // Nobody wants the result any more: it leaves the queue, or stops at its next step.
  void Drop(const Handle& handle);
  void SetMostWaiting(int64_t most);

  struct State {
    int64_t waiting = 0, running = 0, finished = 0;
  };
  State state() const;

 private:
  struct Kept {
    SideJob job;
    Handle stop;
  };
  using Queue = std::list<Kept>;

  void Work(bool brief_only);
  // Sets the stop flag of what has run out of time, and ends what waits for nothing.
  void Watch();
  Queue::iterator Next(bool brief_only);
  void TakeEnded(Queue* ended);
  Status Run(const Kept& kept, Threads& threads);
  int64_t NearestDeadline() const;

  const Clock& clock_;
  mutable std::mutex mutex_;
  std::condition_variable changed_, watch_;
  int64_t most_waiting_;
  Queue waiting_, running_;
  int64_t finished_ = 0;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace plinth::server
