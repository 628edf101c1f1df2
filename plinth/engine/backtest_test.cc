#include "plinth/engine/backtest.h"

#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "plinth/engine/session.h"

namespace plinth::engine {
namespace {

class BacktestTest : public ::testing::Test {
 protected:
  BacktestTest() : threads_(2) {
    context_.threads = &threads_;
    auto session =
        Session::Load(StrCat(std::getenv("PLINTH_SOURCE_DIR"), "/tests/golden/chronos2_rand"), context_);
    EXPECT_TRUE(session.ok()) << session.status();
    session_ = *std::move(session);
  }
  // Items "a" with 40 rows and "b" with 20, numbered, mixed, two targets and a covariate known ahead.
  SeriesFile Open() const {
    std::string name = (std::filesystem::temp_directory_path() / "plinth-backtest-XXXXXX").string();
    const std::string folder = mkdtemp(name.data()), path = folder + "/d.csv";
    std::string text = "i,y,z,f\n";
    for (int t = 0; t < 40; ++t) {
      StrAppend(&text, "a,", t * 7 % 13, ",", t * 3 % 11, ",", t % 5, "\n");
      if (t >= 20) StrAppend(&text, "b,", t * 5 % 12, ",", t * 2 % 7, ",", t % 4, "\n");
    }
    std::ofstream(path) << text;
    SeriesColumns columns;
    columns.time = "none";
    columns.item = "i";
    columns.future = {"f"};
    auto file = SeriesFile::Open(path, columns);
    EXPECT_TRUE(file.ok()) << file.status();
    std::filesystem::remove_all(folder);
    return *std::move(file);
  }
  // Absolute errors of the medians of both targets of `items` behind `origins`, where all are one group.
  std::vector<double> ErrorsOf(const std::vector<const SeriesItem*>& items, int64_t back, int64_t horizon) {
    Group group;
    for (const SeriesItem* item : items) {
      for (const auto& y : item->values) group.rows.push_back({std::span(y).first(y.size() - back), {}});
    }
    group.targets = static_cast<int64_t>(group.rows.size());
    for (const SeriesItem* item : items) {
      const std::span<const double> f = item->covariates[0].numbers;
      group.rows.push_back({f.first(f.size() - back), f.subspan(f.size() - back, horizon)});
    }
    const auto forecasts = session_->Run(std::vector<Group>{group}, {horizon, 0, {0.5}});
    EXPECT_TRUE(forecasts.ok()) << forecasts.status();
    std::vector<double> errors;
    size_t row = 0;
    for (const SeriesItem* item : items) {
      for (const auto& y : item->values) {
        for (int64_t h = 0; h < horizon; ++h) {
          errors.push_back(std::abs((*forecasts)[row].values[h] - y[y.size() - back + h]));
        }
        ++row;
      }
    }
    return errors;
  }

  Threads threads_;
  Context context_;
  std::unique_ptr<Session> session_;
};

TEST_F(BacktestTest, OptionsThatMakeNoSense) {
  const auto refused = [&](BacktestOptions options) {
    return std::string(Backtest::Make(*session_, std::move(options)).status().message());
  };
  EXPECT_EQ(refused({.horizon = 0}), "the horizon is 0; it must be at least 1");
  EXPECT_EQ(refused({.horizon = 3, .windows = 0}), "the number of windows is 0; it must be at least 1");
  EXPECT_EQ(refused({.horizon = 3, .season = 0}), "the season is 0; it must be at least 1");
  EXPECT_EQ(refused({.horizon = 3, .stride = -1}), "context and stride must not be negative");
  EXPECT_EQ(refused({.horizon = 3, .report = {4}}),
            "the report asks for the first 4 steps of a horizon of 3; prefixes have 1 to 3 steps");
}

TEST_F(BacktestTest, WindowsThatFit) {
  auto backtest = Backtest::Make(*session_, {.horizon = 4, .windows = 3, .stride = 5, .season = 6});
  ASSERT_TRUE(backtest.ok());
  EXPECT_EQ(backtest->least_length(), 11);  // 7 of context, then 4
  for (const auto& [length, windows] :
       {std::pair<int64_t, int64_t>{0, 0}, {10, 0}, {11, 1}, {15, 1}, {16, 2}, {21, 3}, {99, 3}}) {
    EXPECT_EQ(backtest->WindowsOf(length), windows) << length;
    EXPECT_EQ(backtest->CheckLength(length).ok(), windows > 0) << length;
  }
  EXPECT_EQ(backtest->CheckLength(10).message(),
            "the series has 10 steps; one window needs at least 11 steps (one season of 6 and more, then a "
            "horizon of 4)");
}

// Item b reaches the first two of four origins; beyond them a goes on alone.
TEST_F(BacktestTest, ItemsOfAGroupTakePartInTheOriginsTheyReach) {
  SeriesFile file = Open();
  auto maker = GroupMaker::Make(file, {.items = Together::Items::kAll});
  ASSERT_TRUE(maker.ok());
  std::vector<SeriesItem> unit(2);
  ASSERT_TRUE(*file.Next(&unit[0]) && *file.Next(&unit[1]));
  auto backtest = Backtest::Make(*session_, {.horizon = 4, .windows = 4, .stride = 6, .season = 5});
  ASSERT_TRUE(backtest.ok());
  const Status status = backtest->Add(unit, *maker);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(backtest->series(), 4);
  EXPECT_EQ(backtest->scores()[0].windows(), 2 * (4 + 2));
  double sum = 0, count = 0;
  for (int64_t k = 0; k < 4; ++k) {
    std::vector<const SeriesItem*> items = {&unit[0]};
    if (k < 2) items.push_back(&unit[1]);
    for (const double error : ErrorsOf(items, 4 + 6 * k, 4)) sum += error, ++count;
  }
  // The mean over windows of equal length is that over steps.
  EXPECT_NEAR(backtest->scores()[0].model().mae, sum / count, 1e-12 * sum / count);
}

TEST_F(BacktestTest, JointTargetsSeeEachOther) {
  const auto mae = [&](bool joint) {
    SeriesFile file = Open();
    auto maker = GroupMaker::Make(file, {.targets = joint});
    auto backtest = Backtest::Make(*session_, {.horizon = 4, .windows = 2, .season = 5});
    SeriesItem item;
    EXPECT_TRUE(*file.Next(&item));
    EXPECT_TRUE(backtest->Add({&item, 1}, *maker).ok());
    return backtest->scores()[0].model().mae;
  };
  EXPECT_NE(mae(false), mae(true));
}

}  // namespace
}  // namespace plinth::engine
