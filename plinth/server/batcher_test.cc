#include "plinth/server/batcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <future>
#include <vector>

#include "plinth/base/files.h"
#include "plinth/base/text.h"

namespace plinth::server {
namespace {

using testing::HasSubstr;
using Result = StatusOr<std::vector<engine::Forecast>>;

class BatcherTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    threads_ = new Threads(2);
    const char* source = std::getenv("PLINTH_SOURCE_DIR");
    if (source == nullptr) return;
    ModelHost::Options options;
    options.context = {threads_, IsaFromEnvironment().value()};
    options.allow_unproven = true;
    host_ = new ModelHost(std::move(options));
    ModelSetting setting;
    setting.name = "m";
    setting.path = JoinPath(source, "models/plinth-ts-0");
    auto model = host_->Load(setting);
    ASSERT_TRUE(model.ok()) << model.status();
    model_ = new ModelPtr(*model);
  }
  static void TearDownTestSuite() {
    delete model_;
    delete host_;
    delete threads_;
  }
  void SetUp() override { ASSERT_NE(model_, nullptr) << "PLINTH_SOURCE_DIR is not set: ctest does"; }

  // `count` series of 200 steps, told apart by `seed`.
  static std::unique_ptr<Work> MakeWork(size_t count, int seed, int64_t horizon = 16) {
    auto data = std::make_shared<std::vector<std::vector<double>>>();
    for (size_t s = 0; s < count; ++s) {
      std::vector<double>& y = data->emplace_back(200);
      for (size_t t = 0; t < y.size(); ++t) {
        y[t] = std::sin(static_cast<double>(t) / (3.0 + seed)) * (1 + static_cast<double>(s));
      }
    }
    auto work = std::make_unique<Work>();
    work->model = *model_;
    work->request.horizon = horizon;
    work->request.levels = {0.1, 0.5, 0.9};
    for (const auto& y : *data) {
      engine::Group& group = work->groups.emplace_back();
      group.rows.push_back({y, {}});
    }
    work->owner = data;
    work->dropped = std::make_shared<std::atomic<bool>>(false);
    return work;
  }
  // Submits and gives the result.
  static std::future<Result> Submit(Batcher& batcher, std::unique_ptr<Work> work,
                                    std::vector<int>* order = nullptr, int number = 0,
                                    int64_t* series = nullptr) {
    auto promise = std::make_shared<std::promise<Result>>();
    work->done = [promise, order, number, series](Result result, const Work::Timing& timing) {
      if (order != nullptr) order->push_back(number);
      if (series != nullptr) *series = timing.batch_series;
      promise->set_value(std::move(result));
    };
    const Status status = batcher.Submit(work);
    if (!status.ok()) promise->set_value(status);
    return promise->get_future();
  }
  static std::vector<std::vector<double>> Values(const Result& result) {
    std::vector<std::vector<double>> values;
    for (const engine::Forecast& forecast : *result) values.push_back(forecast.values);
    return values;
  }
  static std::vector<std::vector<double>> Alone(size_t count, int seed, int64_t horizon = 16) {
    const auto work = MakeWork(count, seed, horizon);
    return Values((*model_)->session->Run(work->groups, work->request));
  }

  static Threads* threads_;
  static ModelHost* host_;
  static ModelPtr* model_;
};
Threads* BatcherTest::threads_ = nullptr;
ModelHost* BatcherTest::host_ = nullptr;
ModelPtr* BatcherTest::model_ = nullptr;

TEST_F(BatcherTest, EachResultHasTheBitsItHasAlone) {
  Batcher batcher({.window_nanoseconds = 5'000'000, .most_series = 8, .preferred_series = 8});
  std::vector<std::future<Result>> results;
  for (int i = 0; i < 20; ++i)
    results.push_back(Submit(batcher, MakeWork(1 + static_cast<size_t>(i % 3), i, 16 + 8 * (i % 2))));
  for (int i = 0; i < 20; ++i) {
    const Result result = results[static_cast<size_t>(i)].get();
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(Values(result), Alone(1 + static_cast<size_t>(i % 3), i, 16 + 8 * (i % 2))) << i;
  }
  const Batcher::State state = batcher.state();
  EXPECT_EQ(state.requests, 20);
  EXPECT_LT(state.batches, 20);  // some ran together
  EXPECT_EQ(state.waiting, 0);
}

TEST_F(BatcherTest, LargeRequestsRunInPartsAndLetOthersThrough) {
  Batcher batcher({.most_series = 4, .preferred_series = 1});
  std::vector<int> order;
  auto large = Submit(batcher, MakeWork(200, 1), &order, 1);
  int64_t series = 0;
  auto small = Submit(batcher, MakeWork(1, 2, 24), &order, 2, &series);
  EXPECT_EQ(Values(small.get()), Alone(1, 2, 24));
  EXPECT_EQ(Values(large.get()), Alone(200, 1));
  EXPECT_THAT(order, testing::ElementsAre(2, 1));
  EXPECT_EQ(series, 1);
}

TEST_F(BatcherTest, HigherPriorityGoesFirst) {
  Batcher batcher({.most_series = 4, .preferred_series = 1});
  std::vector<int> order;
  auto busy = Submit(batcher, MakeWork(4, 1, 2000), &order, 0);
  while (batcher.state().running == 0) std::this_thread::yield();
  auto low = MakeWork(1, 2, 24), high = MakeWork(1, 3, 32);
  high->priority = 5;
  auto later = Submit(batcher, std::move(low), &order, 1);
  auto sooner = Submit(batcher, std::move(high), &order, 2);
  for (auto* one : {&busy, &later, &sooner}) ASSERT_TRUE(one->get().ok());
  EXPECT_THAT(order, testing::ElementsAre(0, 2, 1));
}

TEST_F(BatcherTest, AnIdleEngineNeverWaits) {
  Batcher batcher({.window_nanoseconds = 60'000'000'000, .preferred_series = 100});
  const int64_t began = Clock::System().Monotonic();
  // Each comes right behind the result of the one before it.
  for (int i = 0; i < 300; ++i) ASSERT_TRUE(Submit(batcher, MakeWork(1, 1)).get().ok());
  EXPECT_LT(Clock::System().Monotonic() - began, 30'000'000'000);
}

TEST_F(BatcherTest, FullQueuesRefuse) {
  Batcher batcher({.most_series = 1, .queue = 2});
  auto busy = Submit(batcher, MakeWork(1, 1, 20000));
  while (batcher.state().running == 0) std::this_thread::yield();
  auto a = Submit(batcher, MakeWork(1, 2)), b = Submit(batcher, MakeWork(1, 3));
  const Result refused = Submit(batcher, MakeWork(1, 4)).get();
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("2 requests wait already"));
  EXPECT_GE(batcher.RetryAfter(), 1);
  EXPECT_TRUE(busy.get().ok());
  EXPECT_TRUE(a.get().ok());
  EXPECT_TRUE(b.get().ok());
}

TEST_F(BatcherTest, DroppedWorkCostsNothingMore) {
  Batcher batcher({.most_series = 1});
  auto running = MakeWork(1, 1, 100000);
  auto dropped = running->dropped;
  const int64_t began = Clock::System().Monotonic();
  auto first = Submit(batcher, std::move(running));
  while (batcher.state().running == 0) std::this_thread::yield();
  auto queued = MakeWork(1, 2);
  auto queued_dropped = queued->dropped;
  auto second = Submit(batcher, std::move(queued));
  batcher.Drop(queued_dropped);
  batcher.Drop(dropped);
  EXPECT_EQ(first.get().status().code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(second.get().status().code(), absl::StatusCode::kCancelled);
  const int64_t took = Clock::System().Monotonic() - began;
  // Alone it would have taken far longer.
  const int64_t again = Clock::System().Monotonic();
  ASSERT_TRUE(Submit(batcher, MakeWork(1, 1, 100000)).get().ok());
  EXPECT_LT(took, Clock::System().Monotonic() - again);
}

TEST_F(BatcherTest, TimesRunOutInTheQueue) {
  Batcher batcher({.most_series = 1});
  auto busy = Submit(batcher, MakeWork(1, 1, 50000));
  while (batcher.state().running == 0) std::this_thread::yield();
  auto hurried = MakeWork(1, 2);
  hurried->deadline = Clock::System().Monotonic() + 1;
  EXPECT_EQ(Submit(batcher, std::move(hurried)).get().status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(batcher.state().running, 1) << "it did not wait for the batch that runs";
  EXPECT_EQ(batcher.state().waiting, 0);
  EXPECT_TRUE(busy.get().ok());
}

TEST_F(BatcherTest, DroppedRequestsLeaveTheQueueAtOnce) {
  Batcher batcher({.queue = 1});
  auto busy = Submit(batcher, MakeWork(1, 1, 50000));
  while (batcher.state().running == 0) std::this_thread::yield();
  auto unwanted = MakeWork(1, 2);
  const auto dropped = unwanted->dropped = std::make_shared<std::atomic<bool>>(false);
  auto first = Submit(batcher, std::move(unwanted));
  batcher.Drop(dropped);
  EXPECT_EQ(first.get().status().code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(batcher.state().running, 1);
  auto second = Submit(batcher, MakeWork(1, 3));  // there is room again
  EXPECT_TRUE(second.get().ok());
  EXPECT_TRUE(busy.get().ok());
}

TEST_F(BatcherTest, OneBadRequestSpoilsNoOther) {
  Batcher batcher({.window_nanoseconds = 50'000'000, .most_series = 8, .preferred_series = 8});
  auto busy = Submit(batcher, MakeWork(1, 1, 5000));
  while (batcher.state().running == 0) std::this_thread::yield();
  auto bad = MakeWork(1, 2);
  // A group of two rows, which this family does not have.
  bad->groups[0].rows.push_back(bad->groups[0].rows[0]);
  auto first = Submit(batcher, std::move(bad));
  auto good = Submit(batcher, MakeWork(1, 3));
  EXPECT_FALSE(first.get().ok());
  const Result result = good.get();
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(Values(result), Alone(1, 3));
  EXPECT_TRUE(busy.get().ok());
}

TEST_F(BatcherTest, EndsWhatWaitsWhenItStops) {
  std::future<Result> running, waiting;
  {
    Batcher batcher({.most_series = 1});
    running = Submit(batcher, MakeWork(1, 1, 5000));
    while (batcher.state().running == 0) std::this_thread::yield();
    waiting = Submit(batcher, MakeWork(1, 2));
    EXPECT_FALSE(batcher.Drain(0));
  }
  EXPECT_TRUE(running.get().ok());
  EXPECT_EQ(waiting.get().status().code(), absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace plinth::server
