#include "plinth/server/load_window.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plinth/formats/json.h"

namespace plinth::server {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

TEST(LoadWindow, PercentilesAreWithinHalfAClass) {
  ManualClock clock(0);
  LoadWindow load(clock);
  for (int ms = 1; ms <= 1000; ++ms) load.Answered(200, ms / 1e3);
  const LoadWindow::View view = load.view();
  EXPECT_EQ(view.whole.requests, 1000);
  EXPECT_NEAR(view.whole.median, 0.5, 0.5 * 0.045);
  EXPECT_NEAR(view.whole.p90, 0.9, 0.9 * 0.045);
  EXPECT_NEAR(view.whole.p99, 0.99, 0.99 * 0.045);
  EXPECT_EQ(view.whole.largest, 1.0);
}

TEST(LoadWindow, TakesAnyDuration) {
  LoadWindow load;
  for (const double seconds : {0.0, -1.0, 1e-9, 1e9}) load.Answered(200, seconds);
  EXPECT_EQ(load.view().whole.requests, 4);
  EXPECT_EQ(load.view().whole.largest, 1e9);
}

TEST(LoadWindow, TellsApartWhoseFaultItWas) {
  LoadWindow load;
  for (const int status : {200, 200, 400, 409, 429, 503, 500, 504}) load.Answered(status, 0.01);
  const LoadWindow::Slot whole = load.view().whole;
  EXPECT_EQ(whole.requests, 8);
  EXPECT_EQ(whole.wrong, 2);
  EXPECT_EQ(whole.refused, 2);
  EXPECT_EQ(whole.failed, 2);
}

TEST(LoadWindow, ForgetsWhatIsOld) {
  ManualClock clock(0);
  LoadWindow load(clock);
  load.Answered(200, 0.01);
  clock.Advance(LoadWindow::kSlotSeconds * kSecond);
  load.Answered(200, 0.02);
  LoadWindow::View view = load.view();
  ASSERT_EQ(view.slots.size(), static_cast<size_t>(LoadWindow::kSlots));
  EXPECT_EQ(view.slots[LoadWindow::kSlots - 2].requests, 1);
  EXPECT_EQ(view.slots[LoadWindow::kSlots - 1].requests, 1);
  EXPECT_EQ(view.seconds, 5);
  clock.Advance((LoadWindow::kSlots - 1) * LoadWindow::kSlotSeconds * kSecond);
  view = load.view();
  EXPECT_EQ(view.whole.requests, 1);
  EXPECT_EQ(view.slots[0].requests, 1);
  clock.Advance(LoadWindow::kSlotSeconds * kSecond);
  EXPECT_EQ(load.view().whole.requests, 0);
  EXPECT_EQ(load.view().seconds, 295);
}

TEST(LoadWindow, CountsBatchesBySize) {
  LoadWindow load;
  for (const int64_t size : {1, 2, 3, 4, 5, 1024, 1025, 100000}) load.Computed(size);
  EXPECT_THAT(load.view().batches, testing::ElementsAre(1, 1, 2, 1, 0, 0, 0, 0, 0, 0, 1, 2));
  EXPECT_EQ(load.view().whole.batch_series, (1 + 2 + 3 + 4 + 5 + 1024 + 1025 + 100000) / 8.0);
}

TEST(LoadWindow, WritesNullWhereNothingWasMeasured) {
  LoadWindow load;
  std::string text;
  formats::JsonWriter json(&text);
  load.WriteJson(json);
  const auto read = formats::ParseJson(text, "load");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_TRUE(read->Find("median_seconds")->is_null());
  EXPECT_EQ(read->Find("slots")->array()->size(), static_cast<size_t>(LoadWindow::kSlots));
}

}  // namespace
}  // namespace plinth::server
