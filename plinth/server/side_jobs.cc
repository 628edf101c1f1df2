#include "plinth/server/side_jobs.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <new>

#include "plinth/base/signals.h"
#include "plinth/base/text.h"

namespace plinth::server {
namespace {

constexpr int kNiceness = 10;  // of 19; the engine's threads keep 0

// On Linux a thread has a priority of its own. Where the system refuses, it stays as it is.
void LowerPriority() { (void)setpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid)), kNiceness); }

}  // namespace

SideJobs::SideJobs(int64_t most_waiting, const Clock& clock) : clock_(clock), most_waiting_(most_waiting) {
  for (const bool brief_only : {false, true}) {
    threads_.emplace_back([this, brief_only] {
      BlockSignals();
      LowerPriority();
      Work(brief_only);
    });
  }
  threads_.emplace_back([this] {
    BlockSignals();
    Watch();
  });
}

SideJobs::~SideJobs() {
  Queue ended;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    for (const Kept& kept : running_) *kept.stop = true;
    ended.swap(waiting_);
  }
  changed_.notify_all();
  watch_.notify_all();
  for (const Kept& kept : ended) kept.job.failed(absl::UnavailableError("the service stops"));
  for (std::thread& thread : threads_) thread.join();
}

StatusOr<SideJobs::Handle> SideJobs::Submit(SideJob job) {
  auto stop = std::make_shared<std::atomic<bool>>(false);
  {
    const std::lock_guard lock(mutex_);
    if (static_cast<int64_t>(waiting_.size()) >= most_waiting_) {
      return absl::ResourceExhaustedError(StrCat("the queue is full: ", waiting_.size(),
                                                 " detections and backtests wait already (limits.jobs); "
                                                 "come again later"));
    }
    waiting_.push_back({std::move(job), stop});
  }
  changed_.notify_all();
  watch_.notify_one();
  return stop;
}

void SideJobs::Drop(const Handle& handle) {
  {
    const std::lock_guard lock(mutex_);
    *handle = true;
  }
  watch_.notify_one();
}

void SideJobs::SetMostWaiting(int64_t most) {
  const std::lock_guard lock(mutex_);
  most_waiting_ = most;
}

SideJobs::State SideJobs::state() const {
  const std::lock_guard lock(mutex_);
  return {static_cast<int64_t>(waiting_.size()), static_cast<int64_t>(running_.size()), finished_};
}

SideJobs::Queue::iterator SideJobs::Next(bool brief_only) {
  auto best = waiting_.end();
  for (auto at = waiting_.begin(); at != waiting_.end(); ++at) {
    if (brief_only && !at->job.brief) continue;
    if (best == waiting_.end() || at->job.priority > best->job.priority) best = at;
  }
  return best;
}

Status SideJobs::Run(const Kept& kept, Threads& threads) {
  if (*kept.stop) return absl::CancelledError("nobody waits for the result any more");
  try {
    return kept.job.run(threads, StopCheck(kept.stop.get()));
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError("memory ran out; send fewer or shorter series at once");
  }
}

void SideJobs::Work(bool brief_only) {
  Threads own(1);
  std::unique_lock lock(mutex_);
  while (true) {
    Queue::iterator at;
    changed_.wait(lock, [&] { return stopping_ || (at = Next(brief_only)) != waiting_.end(); });
    if (stopping_) return;
    running_.splice(running_.end(), waiting_, at);
    lock.unlock();
    Status status = Run(*at, own);
    if (!status.ok()) {
      const int64_t deadline = at->job.deadline;
      if (deadline != 0 && clock_.Monotonic() >= deadline)
        status = absl::DeadlineExceededError("the time of this request ran out before it was done");
      at->job.failed(status);
    }
    Queue done;
    lock.lock();
    ++finished_;
    done.splice(done.end(), running_, at);
    lock.unlock();
    done.clear();  // what it held ends outside the lock
    lock.lock();
  }
}

int64_t SideJobs::NearestDeadline() const {
  int64_t nearest = std::numeric_limits<int64_t>::max();
  for (const Queue* queue : {&waiting_, &running_}) {
    for (const Kept& kept : *queue) {
      if (kept.job.deadline != 0 && !*kept.stop) nearest = std::min(nearest, kept.job.deadline);
    }
  }
  return nearest;
}

void SideJobs::TakeEnded(Queue* ended) {
  const int64_t now = clock_.Monotonic();
  for (Kept& kept : running_) {
    if (kept.job.deadline != 0 && now >= kept.job.deadline) *kept.stop = true;
  }
  for (auto at = waiting_.begin(); at != waiting_.end();) {
    const auto one = at++;
    const bool late = one->job.deadline != 0 && now >= one->job.deadline;
    if (late || *one->stop) ended->splice(ended->end(), waiting_, one);
  }
}

void SideJobs::Watch() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    Queue ended;
    TakeEnded(&ended);
    if (!ended.empty()) {
      lock.unlock();
      for (const Kept& kept : ended) {
        kept.job.failed(*kept.stop ? absl::CancelledError("nobody waits for the result any more")
                                   : absl::DeadlineExceededError(
                                         "the time of this request ran out before its turn came"));
      }
      ended.clear();
      lock.lock();
      continue;
    }
    const int64_t nearest = NearestDeadline();
    if (nearest == std::numeric_limits<int64_t>::max()) {
      watch_.wait(lock);
    } else {
      watch_.wait_for(lock, std::chrono::nanoseconds(std::max<int64_t>(0, nearest - clock_.Monotonic())));
    }
  }
}

}  // namespace plinth::server
