#include "plinth/report/series_view.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plinth {
namespace {

SeriesView Small() {
  SeriesView series;
  series.item = "pump";
  series.target = "flow";
  series.history_time = {{0, 10}, {"t0", "t1"}};
  series.history = {1, 2};
  series.forecast_time = {{20, 30}, {"t2", "t3"}};
  series.quantiles = {{0.1, {0, 1}}, {0.2, {2, 3}}, {0.5, {5, 6}}};
  return series;
}

TEST(SeriesView, NamesItemAndTarget) {
  SeriesView series = Small();
  EXPECT_EQ(SeriesTitle(series), "pump · flow");
  series.item.clear();
  EXPECT_EQ(SeriesTitle(series), "flow");
  series.item.swap(series.target);
  EXPECT_EQ(SeriesTitle(series), "flow");
}

TEST(SeriesView, InterpolatesQuantilesAndInventsNone) {
  const SeriesView series = Small();
  using testing::DoubleNear;
  using testing::ElementsAre;
  EXPECT_THAT(QuantileAt(series, 0.5), ElementsAre(5, 6));
  EXPECT_THAT(QuantileAt(series, double{0.1f}), ElementsAre(0, 1));
  // One sixth of the way from 0.2 to 0.5.
  EXPECT_THAT(QuantileAt(series, 0.25), ElementsAre(DoubleNear(2.5, 1e-12), DoubleNear(3.5, 1e-12)));
  EXPECT_TRUE(QuantileAt(series, 0.05).empty());
  EXPECT_TRUE(QuantileAt(series, 0.9).empty());
  EXPECT_TRUE(QuantileAt(SeriesView(), 0.5).empty());
}

TEST(SeriesView, SaysWhatIsInconsistent) {
  EXPECT_EQ(Inconsistency(Small()), "");
  SeriesView series = Small();
  series.history.push_back(3);
  EXPECT_EQ(Inconsistency(series),
            "the history has 3 values, 2 times and 2 time texts; the three must be equal");
  series = Small();
  series.forecast_time.text.pop_back();
  EXPECT_EQ(Inconsistency(series),
            "the forecast has 2 values, 2 times and 1 time texts; the three must be equal");
  series = Small();
  series.history_time.ms = {10, 0};
  EXPECT_EQ(Inconsistency(series), "the history time 1 lies before time 0");
  series = Small();
  series.mean = {1};
  EXPECT_EQ(Inconsistency(series), "the mean has 1 values for 2 forecast steps");
  series = Small();
  series.actual = {1, 2, 3};
  EXPECT_EQ(Inconsistency(series), "the actual values number 3 for 2 forecast steps");
  series = Small();
  series.quantiles[1].level = 0.1;
  EXPECT_EQ(Inconsistency(series), "quantile level 0.1 follows 0.1; levels must ascend inside (0, 1)");
  series = Small();
  series.quantiles[2].level = 1;
  EXPECT_EQ(Inconsistency(series), "quantile level 1 follows 0.2; levels must ascend inside (0, 1)");
  series = Small();
  series.quantiles[0].values.clear();
  EXPECT_EQ(Inconsistency(series), "quantile 0.1 has 0 values for 2 forecast steps");
}

}  // namespace
}  // namespace plinth
