#include "plinth/base/threads.h"

#include <sched.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "plinth/base/check.h"

#ifdef PLINTH_STD_THREADS
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>
#else
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_scheduler_observer.h>
#endif

#ifndef PLINTH_STD_THREADS
// The one function we want of libgomp. <omp.h> would need the compiler's own OpenMP, which clang lacks
// in a fuzz build.
extern "C" void omp_set_num_threads(int count) noexcept;
#endif

namespace plinth {

int Threads::Available() {
  cpu_set_t set;
  int count = 1;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) count = std::max(1, CPU_COUNT(&set));
  // A container's quota: "max 100000" or "150000 100000", in microseconds.
  if (FILE* f = std::fopen("/sys/fs/cgroup/cpu.max", "r")) {
    double quota = 0, period = 0;
    if (std::fscanf(f, "%lf %lf", &quota, &period) == 2 && quota > 0 && period > 0) {
      count = std::clamp(static_cast<int>((quota + period - 1) / period), 1, count);
    }
    std::fclose(f);
  }
  return count;
}

#ifdef PLINTH_STD_THREADS

// ThreadSanitizer reports false races inside the distribution's oneTBB and libgomp, so its build
// uses this small pool behind the same interface.
struct Threads::Impl {
  explicit Impl(int workers) {
    for (int w = 1; w <= workers; ++w) {
      pool.emplace_back([this, w] { Work(w); });
    }
  }
  ~Impl() {
    {
      std::lock_guard lock(mutex);
      stop = true;
    }
    wake.notify_all();
    for (auto& t : pool) t.join();
  }
  void Work(int worker) {
    uint64_t seen = 0;
    std::unique_lock lock(mutex);
    while (true) {
      wake.wait(lock, [&] { return stop || round != seen; });
      if (stop) return;
      seen = round;
      lock.unlock();
      Drain(worker);
      lock.lock();
      if (--busy == 0) done.notify_one();
    }
  }
  void Drain(int worker) {
    for (int64_t p; (p = next.fetch_add(1)) < pieces;) (*body)(p, worker);
  }
  std::mutex mutex;
  std::mutex calls;  // one For at a time
  std::condition_variable wake, done;
  std::vector<std::thread> pool;
  std::atomic<int64_t> next{0};
  int64_t pieces = 0;
  const absl::FunctionRef<void(int64_t, int)>* body = nullptr;
  uint64_t round = 0;
  int busy = 0;
  bool stop = false;
};

void Threads::For(int64_t pieces, absl::FunctionRef<void(int64_t, int)> body) {
  if (count_ == 1 || pieces <= 1) {
    for (int64_t p = 0; p < pieces; ++p) body(p, 0);
    return;
  }
  std::lock_guard one(impl_->calls);
  {
    std::lock_guard lock(impl_->mutex);
    impl_->next = 0;
    impl_->pieces = pieces;
    impl_->body = &body;
    impl_->busy = static_cast<int>(impl_->pool.size());
    ++impl_->round;
  }
  impl_->wake.notify_all();
  impl_->Drain(0);
  std::unique_lock lock(impl_->mutex);
  impl_->done.wait(lock, [&] { return impl_->busy == 0; });
}

#else

// Keeps foreign OpenMP code (the distribution's oneDNN) on the thread that calls it.
class SingleOpenMpThread : public tbb::task_scheduler_observer {
 public:
  explicit SingleOpenMpThread(tbb::task_arena& arena) : tbb::task_scheduler_observer(arena) { observe(true); }
  ~SingleOpenMpThread() override { observe(false); }
  void on_scheduler_entry(bool) override { omp_set_num_threads(1); }
};

struct Threads::Impl {
  explicit Impl(int count) : arena(count, 1), single(arena) {
    // oneTBB stops at one thread per processor unless told otherwise, with a warning on standard error;
    // the arena bounds this pool, so that a pool may have more threads than processors.
    static tbb::global_control allowed(tbb::global_control::max_allowed_parallelism, 1024);
  }
  tbb::task_arena arena;
  SingleOpenMpThread single;
};

void Threads::For(int64_t pieces, absl::FunctionRef<void(int64_t, int)> body) {
  if (count_ == 1 || pieces <= 1) {
    for (int64_t p = 0; p < pieces; ++p) body(p, 0);
    return;
  }
  impl_->arena.execute([&] {
    tbb::parallel_for(
        tbb::blocked_range<int64_t>(0, pieces, 1),
        [&](const tbb::blocked_range<int64_t>& r) {
          const int worker = tbb::this_task_arena::current_thread_index();
          for (int64_t p = r.begin(); p < r.end(); ++p) body(p, worker);
        },
        tbb::simple_partitioner());
  });
}

#endif

Threads::Threads(int count) : count_(count == 0 ? Available() : count) {
  PLINTH_CHECK_LE(1, count_);
#ifdef PLINTH_STD_THREADS
  impl_ = std::make_unique<Impl>(count_ - 1);
#else
  // By itself oneTBB starts no more threads than there are processors, whatever an arena asks for.
  static tbb::global_control limit(tbb::global_control::max_allowed_parallelism, 4096);
  omp_set_num_threads(1);
  impl_ = std::make_unique<Impl>(count_);
#endif
}

Threads::~Threads() = default;

}  // namespace plinth
