#include "plinth/server/batcher.h"

#include <algorithm>
#include <iterator>
#include <new>

#include "plinth/base/check.h"
#include "plinth/base/signals.h"

namespace plinth::server {
namespace {

bool RunTogether(const Work& a, const Work& b) {
  return a.model == b.model && a.request.horizon == b.request.horizon &&
         a.request.context == b.request.context && a.request.levels == b.request.levels;
}

int64_t SeriesOf(const engine::Group& group) { return static_cast<int64_t>(group.rows.size()); }

size_t TargetsIn(std::span<const engine::Group> groups) {
  size_t count = 0;
  for (const engine::Group& group : groups) count += static_cast<size_t>(group.targets);
  return count;
}

}  // namespace

Batcher::Batcher(BatchOptions options, const Clock& clock)
    : clock_(clock),
      options_(options),
      thread_([this] {
        BlockSignals();
        Loop();
      }),
      watch_([this] {
        BlockSignals();
        Watch();
      }) {}

Batcher::~Batcher() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  watched_.notify_all();
  thread_.join();
  watch_.join();
}

Status Batcher::Submit(std::unique_ptr<Work>& work) {
  bool sooner = false;
  {
    const std::lock_guard lock(mutex_);
    if (static_cast<int64_t>(waiting_.size()) >= options_.queue + static_cast<int64_t>(running_.size())) {
      return absl::ResourceExhaustedError(
          StrCat("the queue is full: ", options_.queue, " requests wait already; come again later"));
    }
    Waiting waiting;
    waiting.work = std::move(work);
    waiting.came = clock_.Monotonic();
    const int64_t deadline = waiting.work->deadline;
    sooner = deadline != 0 && (watched_until_ == 0 || deadline < watched_until_);
    look_again_ = look_again_ || sooner;
    waiting_.push_back(std::move(waiting));
  }
  changed_.notify_one();
  if (sooner) watched_.notify_one();
  return absl::OkStatus();
}

void Batcher::Drop(const std::shared_ptr<std::atomic<bool>>& dropped) {
  {
    const std::lock_guard lock(mutex_);
    *dropped = true;
    const bool wanted =
        std::any_of(running_.begin(), running_.end(), [&](const Slice& s) { return Wanted(*s.of); });
    if (!running_.empty() && !wanted) nobody_wants_ = true;
    look_again_ = true;
  }
  changed_.notify_one();
  watched_.notify_one();
}

void Batcher::SetOptions(const BatchOptions& options) {
  const std::lock_guard lock(mutex_);
  options_ = options;
}

bool Batcher::Drain(int64_t nanoseconds) {
  std::unique_lock lock(mutex_);
  return idle_.wait_for(lock, std::chrono::nanoseconds(nanoseconds), [&] { return waiting_.empty(); });
}

Batcher::State Batcher::state() const {
  const std::lock_guard lock(mutex_);
  State state = state_;
  state.running = static_cast<int64_t>(running_.size());
  state.waiting = static_cast<int64_t>(waiting_.size()) - state.running;
  return state;
}

int64_t Batcher::RetryAfter() const {
  const std::lock_guard lock(mutex_);
  const double seconds = static_cast<double>(waiting_.size()) * nanoseconds_per_request_ / 1e9;
  return std::clamp<int64_t>(static_cast<int64_t>(seconds) + 1, 1, 600);
}

void Batcher::End(Waiting waiting, const Status& status, int64_t batch_series) {
  const Work::Timing timing{waiting.started == 0 ? 0 : waiting.started - waiting.came, waiting.computed,
                            batch_series};
  if (status.ok()) {
    waiting.work->done(std::move(waiting.results), timing);
  } else {
    waiting.work->done(status, timing);
  }
}

void Batcher::EndExpired(std::unique_lock<std::mutex>& lock) {
  const int64_t now = clock_.Monotonic();
  Queue ended;
  for (auto at = waiting_.begin(); at != waiting_.end();) {
    const auto one = at++;
    if (Runs(one)) continue;
    const int64_t deadline = one->work->deadline;
    if (!Wanted(*one) || (deadline != 0 && now >= deadline)) ended.splice(ended.end(), waiting_, one);
  }
  if (ended.empty()) return;
  lock.unlock();
  for (Waiting& waiting : ended) {
    const bool late = Wanted(waiting);
    End(std::move(waiting),
        late ? absl::DeadlineExceededError(
                   "the time of this request ran out before the engine was free for it")
             : absl::CancelledError("nobody waits for the result any more"),
        0);
  }
  lock.lock();
}

bool Batcher::Runs(Queue::iterator one) const {
  return std::any_of(running_.begin(), running_.end(), [&](const Slice& s) { return s.of == one; });
}

void Batcher::Watch() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    look_again_ = false;
    EndExpired(lock);
    watched_until_ = 0;
    for (auto at = waiting_.begin(); at != waiting_.end(); ++at) {
      const int64_t deadline = at->work->deadline;
      if (deadline == 0 || Runs(at)) continue;
      if (watched_until_ == 0 || deadline < watched_until_) watched_until_ = deadline;
    }
    const auto called = [&] { return stopping_ || look_again_; };
    if (watched_until_ == 0) {
      watched_.wait(lock, called);
    } else {
      watched_.wait_for(lock, std::chrono::nanoseconds(watched_until_ - clock_.Monotonic()), called);
    }
  }
}

Batcher::Queue::iterator Batcher::First() {
  return std::max_element(waiting_.begin(), waiting_.end(), [](const Waiting& a, const Waiting& b) {
    return a.work->priority < b.work->priority;  // the first of the highest
  });
}

std::vector<Batcher::Slice> Batcher::Gather(Queue::iterator first) const {
  std::vector<Slice> slices;
  const int64_t most = std::min(options_.most_series, first->work->model->bounds.batch);
  int64_t series = 0;
  const auto add = [&](Queue::iterator at) {
    const std::vector<engine::Group>& groups = at->work->groups;
    size_t end = at->next;
    while (end < groups.size()) {
      const int64_t more = SeriesOf(groups[end]);
      if (series + more > most && !(slices.empty() && end == at->next)) break;
      series += more;
      ++end;
    }
    if (end > at->next) slices.push_back({at, at->next, end});
  };
  add(first);
  if (first->alone) return slices;
  auto& all = const_cast<Queue&>(waiting_);
  for (auto at = all.begin(); at != all.end() && series < most; ++at) {
    if (at != first && !at->alone && RunTogether(*at->work, *first->work)) add(at);
  }
  return slices;
}

void Batcher::Run(std::unique_lock<std::mutex>& lock, const std::vector<Slice>& slices) {
  running_ = slices;
  nobody_wants_ = false;
  const int64_t began = clock_.Monotonic();
  std::vector<engine::Group> groups;
  int64_t series = 0;
  for (const Slice& slice : slices) {
    if (slice.of->started == 0) slice.of->started = began;
    const auto& from = slice.of->work->groups;
    groups.insert(groups.end(), from.begin() + static_cast<std::ptrdiff_t>(slice.begin),
                  from.begin() + static_cast<std::ptrdiff_t>(slice.end));
  }
  for (const engine::Group& group : groups) series += SeriesOf(group);
  const Work& first = *slices[0].of->work;
  lock.unlock();
  const auto compute = [&]() -> StatusOr<std::vector<engine::Forecast>> {
    try {
      // Nothing may run out of memory once results are there.
      for (const Slice& slice : slices) slice.of->results.reserve(TargetsIn(slice.of->work->groups));
      return first.model->session->Run(groups, first.request, StopCheck(&nobody_wants_));
    } catch (const std::bad_alloc&) {
      return absl::ResourceExhaustedError("memory ran out; send fewer or shorter series at once");
    }
  };
  auto results = compute();
  const int64_t took = clock_.Monotonic() - began;
  lock.lock();
  ++state_.batches;
  state_.series += series;
  state_.busy_nanoseconds += took;
  const bool again = !results.ok() && slices.size() > 1 && !absl::IsCancelled(results.status());
  Queue ended;
  size_t at = 0;
  for (const Slice& slice : slices) {
    Waiting& waiting = *slice.of;
    waiting.alone = again;
    if (again) continue;
    waiting.computed += took;
    const size_t count =
        TargetsIn(std::span(waiting.work->groups).subspan(slice.begin, slice.end - slice.begin));
    if (results.ok()) {
      waiting.results.insert(
          waiting.results.end(), std::make_move_iterator(results->begin() + static_cast<std::ptrdiff_t>(at)),
          std::make_move_iterator(results->begin() + static_cast<std::ptrdiff_t>(at + count)));
    }
    at += count;
    waiting.next = slice.end;
    const bool whole = !results.ok() || waiting.next == waiting.work->groups.size();
    if (whole) {
      ended.splice(ended.end(), waiting_, slice.of);
    } else {
      waiting_.splice(waiting_.end(), waiting_, slice.of);
    }
  }
  state_.requests += static_cast<int64_t>(ended.size());
  const double each = static_cast<double>(took) / static_cast<double>(slices.size());
  nanoseconds_per_request_ =
      nanoseconds_per_request_ == 0 ? each : 0.8 * nanoseconds_per_request_ + 0.2 * each;
  running_.clear();
  ended_ = began + took;
  lock.unlock();
  for (Waiting& waiting : ended) End(std::move(waiting), results.status(), series);
  ended.clear();  // a model that was unloaded meanwhile ends here, outside the lock
  lock.lock();
}

void Batcher::Loop() {
  std::unique_lock lock(mutex_);
  while (true) {
    EndExpired(lock);
    if (waiting_.empty()) {
      idle_.notify_all();
      if (stopping_) return;
      changed_.wait(lock, [&] { return stopping_ || !waiting_.empty(); });
      continue;
    }
    if (stopping_) {
      Queue ended;
      ended.swap(waiting_);
      lock.unlock();
      for (Waiting& waiting : ended) End(std::move(waiting), absl::UnavailableError("the service stops"), 0);
      lock.lock();
      continue;
    }
    const auto first = First();
    const std::vector<Slice> slices = Gather(first);
    int64_t series = 0;
    for (const Slice& s : slices) {
      for (size_t g = s.begin; g < s.end; ++g) series += SeriesOf(s.of->work->groups[g]);
    }
    const int64_t left = first->came + options_.window_nanoseconds - clock_.Monotonic();
    const bool came_behind_a_batch = first->came < ended_;
    if (came_behind_a_batch && series < std::min(options_.preferred_series, options_.most_series) &&
        left > 0) {
      changed_.wait_for(lock, std::chrono::nanoseconds(left));
      continue;
    }
    Run(lock, slices);
  }
}

}  // namespace plinth::server
