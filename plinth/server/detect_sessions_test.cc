#include "plinth/server/detect_sessions.h"

#include <cmath>
#include <cstdlib>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "plinth/server/fields.h"

namespace plinth::server {
namespace {

class FakeClock : public Clock {
 public:
  int64_t Wall() const override { return now; }
  int64_t Monotonic() const override { return now; }
  int64_t now = 1'000'000'000;
};

class DetectSessionsTest : public ::testing::Test {
 protected:
  DetectSessionsTest() : threads_(1) {
    context_.threads = &threads_;
    const char* root = std::getenv("PLINTH_SOURCE_DIR");
    auto session =
        engine::Session::Load(StrCat(root == nullptr ? "." : root, "/models/plinth-ts-0"), context_);
    EXPECT_TRUE(session.ok()) << session.status();
    session_ = *std::move(session);
    forecaster_ = std::make_unique<engine::SessionForecaster>(*session_);
  }
  // Rows [begin, end) of an hourly series, by number or by time.
  static engine::SeriesItem Rows(int begin, int end, bool numbered) {
    engine::SeriesItem item;
    item.values.resize(1);
    for (int t = begin; t < end; ++t)
      item.values[0].push_back(t == 150 ? 90 : 20 + 5 * std::sin(t * 0.26) + (t * 7 % 5) * 0.1);
    item.numbered = numbered;
    item.frequency = {series::Frequency::Kind::kMicros, int64_t{3600} * 1'000'000};
    item.origin.micros = int64_t{begin} * 3600 * 1'000'000;
    return item;
  }
  StatusOr<DetectSessions::Answer> Send(DetectSessions& sessions, const std::string& id, int begin, int end,
                                        uint64_t generation = 1, bool numbered = false,
                                        int64_t calibration = 100) {
    DetectSessions::Request request;
    request.id = id, request.targets = &targets_, request.generation = generation;
    request.options.calibration = calibration;
    request.options.scores = detect::DefaultScores(true);
    engine::SeriesItem item = Rows(begin, end, numbered);
    return sessions.Score(*forecaster_, request, &item, {});
  }
  Threads threads_;
  Context context_;
  std::unique_ptr<engine::Session> session_;
  std::unique_ptr<engine::SessionForecaster> forecaster_;
  std::vector<std::string> targets_{"y"};
};

TEST_F(DetectSessionsTest, LearnsOnceAndScoresWhatComes) {
  DetectSessions sessions({});
  EXPECT_EQ(Send(sessions, "a", 0, 60)->missing, 40);
  EXPECT_EQ(Send(sessions, "a", 60, 99)->missing, 1);
  auto answer = Send(sessions, "a", 99, 104);
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->missing, 0);
  EXPECT_EQ(answer->detection.first, 100);
  EXPECT_EQ(answer->detection.rows(), 4);
  const double threshold = answer->detection.threshold;
  answer = Send(sessions, "a", 104, 152);
  EXPECT_EQ(answer->detection.threshold, threshold);
  ASSERT_GE(answer->detection.alarm[46], 0);
  const detect::Alarm spike = answer->detection.alarms[static_cast<size_t>(answer->detection.alarm[46])];
  // The row behind a spike sees it as it is, too.
  EXPECT_TRUE(spike.peak_row == 150 || spike.peak_row == 151) << spike.peak_row;
  EXPECT_EQ(answer->fresh, 104);
  // The alarm goes on in the next request, or is over.
  answer = Send(sessions, "a", 152, 153);
  for (const detect::Alarm& alarm : answer->detection.alarms) {
    EXPECT_EQ(alarm.begin, spike.begin);
    EXPECT_EQ(alarm.peak_row, spike.peak_row);
  }
  // Sent again, nothing is fresh; the rows are those of the first time.
  answer = Send(sessions, "a", 104, 152);
  EXPECT_EQ(answer->fresh, 153);
  EXPECT_EQ(answer->detection.rows(), 49);
  EXPECT_GE(answer->detection.score[46], threshold);
}

TEST_F(DetectSessionsTest, CountsNumberedRows) {
  DetectSessions sessions({});
  ASSERT_TRUE(Send(sessions, "a", 0, 120, 1, true).ok());
  const auto answer = Send(sessions, "a", 120, 130, 1, true);
  EXPECT_EQ(answer->detection.first + answer->before, 120);
  EXPECT_EQ(answer->detection.rows(), 10);
}

TEST_F(DetectSessionsTest, AModelThatWasLoadedAgainLearnsAnew) {
  DetectSessions sessions({});
  ASSERT_EQ(Send(sessions, "a", 0, 120)->missing, 0);
  const auto answer = Send(sessions, "a", 120, 125, 2);
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->missing, 0);
  EXPECT_EQ(answer->detection.rows(), 5);
}

TEST_F(DetectSessionsTest, RefusesOtherOptionsAndTooManyRows) {
  DetectSessions sessions({});
  ASSERT_TRUE(Send(sessions, "a", 0, 10).ok());
  const auto other = Send(sessions, "a", 10, 20, 1, false, 90);
  EXPECT_EQ(FieldOf(other.status()), "session");
  EXPECT_THAT(std::string(Send(sessions, "b", 0, 8193).status().message()), ::testing::HasSubstr("8192"));
  EXPECT_EQ(Send(sessions, "a", -5, 0).status().code(), absl::StatusCode::kInvalidArgument);
  DetectSessions none({.most = 0});
  EXPECT_EQ(Send(none, "a", 0, 10).status().code(), absl::StatusCode::kResourceExhausted);
}

TEST_F(DetectSessionsTest, ForgetsTheLongestUnusedAndTheIdle) {
  FakeClock clock;
  DetectSessions sessions({.most = 2, .idle_nanoseconds = 1000}, clock);
  EXPECT_EQ(Send(sessions, "a", 0, 10)->missing, 90);
  EXPECT_EQ(Send(sessions, "b", 0, 10)->missing, 90);
  EXPECT_EQ(Send(sessions, "a", 10, 20)->missing, 80);
  EXPECT_EQ(Send(sessions, "c", 0, 10)->missing, 90);
  EXPECT_EQ(sessions.size(), 2);
  EXPECT_EQ(Send(sessions, "a", 20, 30)->missing, 70);
  clock.now += 1001;
  EXPECT_EQ(Send(sessions, "a", 30, 40)->missing, 90);
  EXPECT_EQ(sessions.size(), 1);
}

TEST_F(DetectSessionsTest, RowsFarAheadAreNotScoredFromNothing) {
  DetectSessions sessions({});
  ASSERT_EQ(Send(sessions, "a", 0, 120)->missing, 0);
  // Beyond what is kept: the rows between are gaps, and nothing breaks.
  const auto answer = Send(sessions, "a", 17'000, 17'010);
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->detection.rows(), 10);
  const auto again = Send(sessions, "a", 34'000, 34'004);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->detection.rows(), 4);
}

}  // namespace
}  // namespace plinth::server
