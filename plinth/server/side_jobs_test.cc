#include "plinth/server/side_jobs.h"

#include <condition_variable>
#include <future>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plinth::server {
namespace {

using std::chrono::seconds;

// Holds jobs until it is opened.
class Gate {
 public:
  void Open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  void Wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return open_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
};

// A job whose end can be waited for.
struct Watched {
  std::promise<Status> promise;
  std::future<Status> ended = promise.get_future();
  SideJob Make(std::function<Status(StopCheck)> run) {
    SideJob job;
    job.run = [this, run](Threads& threads, StopCheck stop) {
      EXPECT_EQ(threads.count(), 1);
      const Status status = run(stop);
      if (status.ok()) promise.set_value(status);
      return status;
    };
    job.failed = [this](const Status& status) { promise.set_value(status); };
    return job;
  }
  Status Get() {
    EXPECT_EQ(ended.wait_for(seconds(20)), std::future_status::ready);
    return ended.get();
  }
};

Status UntilStopped(StopCheck stop) {
  while (!stop()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return absl::CancelledError("interrupted");
}

int64_t In(double seconds) { return Clock::System().Monotonic() + static_cast<int64_t>(seconds * 1e9); }

TEST(SideJobs, RunByPriorityAndRefuseWhatIsTooMuch) {
  SideJobs jobs(2);
  Gate gate;
  Watched first, low, high, over;
  std::string order;
  std::promise<void> begun;
  ASSERT_TRUE(jobs.Submit(first.Make([&](StopCheck) {
                    begun.set_value();
                    gate.Wait();
                    return absl::OkStatus();
                  }))
                  .ok());
  begun.get_future().wait();
  const auto add = [&](Watched& watched, int priority, char letter) {
    SideJob job = watched.Make([&order, letter](StopCheck) {
      order += letter;
      return absl::OkStatus();
    });
    job.priority = priority;
    return jobs.Submit(std::move(job)).status();
  };
  ASSERT_TRUE(add(low, -1, 'l').ok());
  ASSERT_TRUE(add(high, 1, 'h').ok());
  const Status refused = add(over, 9, 'o');
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(refused.message()), ::testing::HasSubstr("2 detections and backtests wait"));
  EXPECT_EQ(jobs.state().waiting, 2);
  EXPECT_EQ(jobs.state().running, 1);
  gate.Open();
  EXPECT_TRUE(first.Get().ok() && low.Get().ok() && high.Get().ok());
  EXPECT_EQ(order, "hl");
}

TEST(SideJobs, ABriefOneNeedsNotWaitForALongOne) {
  SideJobs jobs(8);
  Gate gate;
  Watched lasting, brief;
  ASSERT_TRUE(jobs.Submit(lasting.Make([&](StopCheck) {
                    gate.Wait();
                    return absl::OkStatus();
                  }))
                  .ok());
  SideJob job = brief.Make([](StopCheck) { return absl::OkStatus(); });
  job.brief = true;
  ASSERT_TRUE(jobs.Submit(std::move(job)).ok());
  EXPECT_TRUE(brief.Get().ok());
  gate.Open();
  EXPECT_TRUE(lasting.Get().ok());
}

TEST(SideJobs, EndAtTheirDeadlineWhetherTheyRunOrWait) {
  SideJobs jobs(8);
  Watched running, waiting;
  SideJob job = running.Make(&UntilStopped);
  job.deadline = In(0.2);
  ASSERT_TRUE(jobs.Submit(std::move(job)).ok());
  job = waiting.Make([](StopCheck) { return absl::OkStatus(); });
  job.deadline = In(0.05);
  ASSERT_TRUE(jobs.Submit(std::move(job)).ok());
  EXPECT_EQ(waiting.Get().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(running.Get().code(), absl::StatusCode::kDeadlineExceeded);
}

TEST(SideJobs, StopWhenNobodyWantsThem) {
  SideJobs jobs(8);
  Watched running, waiting;
  const auto first = jobs.Submit(running.Make(&UntilStopped));
  const auto second = jobs.Submit(waiting.Make([](StopCheck) { return absl::OkStatus(); }));
  ASSERT_TRUE(first.ok() && second.ok());
  jobs.Drop(*second);
  EXPECT_EQ(waiting.Get().code(), absl::StatusCode::kCancelled);
  jobs.Drop(*first);
  EXPECT_EQ(running.Get().code(), absl::StatusCode::kCancelled);
  jobs.Drop(*first);
}

TEST(SideJobs, EndWithTheService) {
  Watched running, waiting;
  {
    SideJobs jobs(8);
    std::promise<void> begun;
    ASSERT_TRUE(jobs.Submit(running.Make([&](StopCheck stop) {
                      begun.set_value();
                      return UntilStopped(stop);
                    }))
                    .ok());
    begun.get_future().wait();
    ASSERT_TRUE(jobs.Submit(waiting.Make([](StopCheck) { return absl::OkStatus(); })).ok());
  }
  EXPECT_EQ(waiting.Get().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(running.Get().code(), absl::StatusCode::kCancelled);
}

TEST(SideJobs, MemoryThatRunsOutIsAnError) {
  SideJobs jobs(8);
  Watched job;
  ASSERT_TRUE(jobs.Submit(job.Make([](StopCheck) -> Status { throw std::bad_alloc(); })).ok());
  EXPECT_EQ(job.Get().code(), absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace plinth::server
