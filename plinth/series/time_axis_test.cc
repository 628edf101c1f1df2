#include "plinth/series/time_axis.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plinth::series {
namespace {

using ::testing::ElementsAre;

const char kClock[] =
    "; this looks like the night of a clock change in local time: give the stamps in UTC or with their "
    "offset, "
    "such as +01:00";

struct Column {
  std::vector<Timestamp> times;
  TimeStyle style;
  TimeColumn view() const { return {times, &style}; }
};

Column Read(const std::vector<std::string>& cells) {
  Column c;
  TimeReader reader;
  for (const std::string& cell : cells) {
    const auto t = reader.Read(cell);
    EXPECT_TRUE(t.ok()) << t.status();
    c.times.push_back(*t);
  }
  c.style = reader.style();
  return c;
}

// n stamps from `from` on, without those at the indices `without`.
Column Every(std::string_view from, std::string_view frequency, int n, const std::vector<int>& without = {}) {
  TimeReader reader;
  const Timestamp origin = *reader.Read(from);
  Column c;
  for (int i = 0; i < n; ++i) {
    if (std::count(without.begin(), without.end(), i)) continue;
    c.times.push_back(Advance(origin, *ParseFrequency(frequency), i));
  }
  c.style = reader.style();
  return c;
}

std::string Inferred(const Column& c) {
  const auto found = InferFrequency(c.view());
  return found.ok() ? FrequencyText(found->frequency) : std::string(found.status().message());
}

TEST(InferFrequency, FindsEveryRule) {
  for (auto [from, frequency] : {std::pair{"2024-01-31T00:00", "30min"},
                                 {"2024-01-31T00:00:00.5Z", "100ms"},
                                 {"2024-01-31", "h"},
                                 {"2024-01-31", "D"},
                                 {"2024-01-31", "3D"},
                                 {"2024-01-31", "W"},
                                 {"2024-01-31", "B"},
                                 {"2024-01-01", "MS"},
                                 {"2024-01-31", "ME"},
                                 {"2024-01-01", "QS"},
                                 {"2024-03-31", "QE"},
                                 {"2024-01-01", "YS"},
                                 {"2024-12-31", "YE"},
                                 {"2024-01-01T06:00", "MS"},
                                 {"1706659200", "15min"}}) {
    EXPECT_EQ(Inferred(Every(from, frequency, 40)), frequency) << from;
  }
  EXPECT_EQ(Inferred(Every("2024-01-15", "M", 40)), "M");
  EXPECT_EQ(InferFrequency(Every("2024-01-30", "M", 40).view())->frequency.month_day, 30);
}

TEST(InferFrequency, TheExampleSeries) {
  const char* source = std::getenv("PLINTH_SOURCE_DIR");
  if (source == nullptr) GTEST_SKIP() << "PLINTH_SOURCE_DIR is not set; run the tests through ctest";
  for (auto [file, frequency] :
       {std::pair{"demand", "30min"}, {"air_passengers", "MS"}, {"wine_sales", "MS"}, {"wool_yarn", "QS"}}) {
    std::ifstream in(StrCat(source, "/examples/series/", file, ".csv"));
    std::string line;
    ASSERT_TRUE(std::getline(in, line)) << file;  // the header
    std::vector<std::string> cells;
    while (std::getline(in, line)) cells.push_back(line.substr(0, line.find(',')));
    const Column c = Read(cells);
    const auto found = InferFrequency(c.view());
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_EQ(FrequencyText(found->frequency), frequency) << file;
    EXPECT_EQ(found->missing, 0) << file;
    EXPECT_EQ(FormatTime(c.times.back(), c.style), cells.back());
    EXPECT_EQ(PlaceOnGrid(c.view(), found->frequency)->length, static_cast<int64_t>(cells.size()));
  }
}

TEST(InferFrequency, TwoRowsAreEnough) {
  EXPECT_EQ(Inferred(Read({"2024-01-01T00:00", "2024-01-01T00:10"})), "10min");
  EXPECT_EQ(Inferred(Read({"2023-02-01", "2023-03-01"})), "MS");  // and not four weeks
  EXPECT_EQ(Inferred(Read({"1965-01-01", "1965-04-01"})), "QS");
  EXPECT_EQ(Inferred(Read({"2023-01-31", "2023-02-28"})), "ME");
  EXPECT_EQ(Inferred(Read({"2023-01-01", "2024-01-01"})), "YS");
  EXPECT_EQ(Inferred(Read({"2024-01-05", "2024-01-08"})), "3D");
  EXPECT_EQ(Inferred(Read({"2023-01-02", "2023-01-30"})), "4W");
}

TEST(InferFrequency, MissingRowsAreGaps) {
  auto found = InferFrequency(Every("2024-01-01", "h", 100, {3, 4, 50, 98}).view());
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(FrequencyText(found->frequency), "h");
  EXPECT_EQ(found->missing, 4);
  EXPECT_EQ(found->note, "");
  EXPECT_EQ(InferFrequency(Every("2024-01-31", "ME", 24, {1, 13}).view())->missing, 2);
  EXPECT_EQ(InferFrequency(Every("2024-01-01", "B", 24, {7}).view())->missing, 1);
  // Two hours are more common than one, but all steps are multiples of one.
  EXPECT_EQ(Inferred(Read({"2024-01-01T00:00", "2024-01-01T02:00", "2024-01-01T03:00", "2024-01-01T05:00",
                           "2024-01-01T06:00"})),
            "h");
}

TEST(InferFrequency, BusinessDaysNeedAWeekend) {
  EXPECT_EQ(Inferred(Every("2024-01-01", "B", 5)), "D");
  EXPECT_EQ(Inferred(Every("2024-01-01", "B", 6)), "B");
  EXPECT_EQ(Inferred(Every("2024-01-01", "D", 8, {5, 6})), "B");
  EXPECT_EQ(Inferred(Every("2024-01-01", "D", 8, {5})), "D");  // a Sunday is there
}

TEST(InferFrequency, OffsetsMayChange) {
  // Hourly over the end of summer time; then daily at midnight, one day of 25 hours.
  EXPECT_EQ(Inferred(Read({"2023-10-29T01:00+02:00", "2023-10-29T02:00+02:00", "2023-10-29T02:00+01:00",
                           "2023-10-29T03:00+01:00"})),
            "h");
  EXPECT_EQ(Inferred(Read({"2023-10-28T00:00+02:00", "2023-10-29T00:00+02:00", "2023-10-30T00:00+01:00",
                           "2023-10-31T00:00+01:00"})),
            "D");
  EXPECT_EQ(Inferred(Read({"2023-10-01T00:00+02:00", "2023-11-01T00:00+01:00"})), "MS");
  // Absolute 24 hours: the hour of the day moves.
  EXPECT_EQ(Inferred(Read({"2023-10-28T00:00+02:00", "2023-10-29T00:00+02:00", "2023-10-29T23:00+01:00"})),
            "24h");
}

TEST(InferFrequency, TooFewRows) {
  EXPECT_EQ(
      Inferred(Read({})),
      "the frequency needs at least two rows to be seen, and there are none; give it, for example --freq 1h");
  EXPECT_EQ(
      Inferred(Read({"2024-01-01"})),
      "the frequency needs at least two rows to be seen, and there is one; give it, for example --freq 1h");
}

TEST(InferFrequency, DuplicatesAndDisorder) {
  EXPECT_EQ(
      Inferred(Read({"2024-01-01", "2024-01-02", "2024-01-02"})),
      "rows 2 and 3 have the same time 2024-01-02; keep one of them, or name the column that tells several "
      "series apart (--item)");
  EXPECT_EQ(
      Inferred(Read({"2024-01-02", "2024-01-03", "2024-01-01"})),
      "row 3 (2024-01-01) lies before row 2 (2024-01-03); sort the rows by time, or name the column that "
      "tells several series apart (--item)");
  Column c = Read({"2024-01-01", "2024-01-01"});
  const std::vector<int64_t> numbers{17, 40};
  TimeColumn view = c.view();
  view.lines = numbers;
  EXPECT_THAT(std::string(InferFrequency(view).status().message()),
              ::testing::StartsWith("lines 17 and 40 "));
}

TEST(InferFrequency, TheRepeatedHourInAutumn) {
  EXPECT_EQ(Inferred(Read({"2023-10-29T01:00", "2023-10-29T02:00", "2023-10-29T02:00", "2023-10-29T03:00"})),
            std::string("rows 2 and 3 have the same time 2023-10-29T02:00") + kClock);
  EXPECT_EQ(Inferred(Read({"2023-10-29T01:30", "2023-10-29T02:00", "2023-10-29T02:30", "2023-10-29T02:00",
                           "2023-10-29T02:30", "2023-10-29T03:00"})),
            std::string("row 4 (2023-10-29T02:00) lies before row 3 (2023-10-29T02:30)") + kClock);
  // Sorted by text, each stamp of the hour stands twice. In America the clocks change at two o'clock.
  EXPECT_EQ(Inferred(Read({"2023-11-05T00:30", "2023-11-05T01:00", "2023-11-05T01:00", "2023-11-05T01:30",
                           "2023-11-05T01:30", "2023-11-05T02:00"})),
            std::string("rows 2 and 3 have the same time 2023-11-05T01:00") + kClock);
  // The same on a Monday is an ordinary duplicate.
  EXPECT_THAT(Inferred(Read({"2023-10-30T01:00", "2023-10-30T02:00", "2023-10-30T02:00"})),
              ::testing::HasSubstr("keep one of them"));
}

TEST(InferFrequency, TheMissingHourInSpring) {
  const Column c = Read({"2023-03-26T00:30", "2023-03-26T01:00", "2023-03-26T01:30", "2023-03-26T03:00",
                         "2023-03-26T03:30", "2023-03-26T04:00"});
  const auto found = InferFrequency(c.view());
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(FrequencyText(found->frequency), "30min");
  EXPECT_EQ(found->missing, 2);
  EXPECT_EQ(
      found->note,
      std::string("the hour missing between rows 3 and 4 (2023-03-26T01:30 and 2023-03-26T03:00) is taken "
                  "as a gap") +
          kClock);
  // Steps of two hours no longer fit.
  EXPECT_EQ(
      Inferred(Read({"2023-03-25T22:00", "2023-03-26T00:00", "2023-03-26T03:00", "2023-03-26T05:00"})),
      std::string("rows 2 and 3 (2023-03-26T00:00 and 2023-03-26T03:00) are 3h apart, which is no multiple "
                  "of the usual step of 2h") +
          kClock);
}

TEST(InferFrequency, IrregularRows) {
  EXPECT_EQ(
      Inferred(Read({"2024-01-01T00:00", "2024-01-01T00:05", "2024-01-01T00:10", "2024-01-01T00:17",
                     "2024-01-01T00:22"})),
      "rows 3 and 4 (2024-01-01T00:10 and 2024-01-01T00:17) are 7min apart, which is no multiple of the "
      "usual step of 5min; resample to a regular step first");
  EXPECT_EQ(
      Inferred(Read({"2024-01-01T00:00", "2024-01-01T00:01", "2024-01-01T00:04", "2024-01-01T00:09",
                     "2024-01-01T00:20"})),
      "the steps between rows follow no rule: the most common, min, makes up 1 of 4; give the frequency "
      "(--freq 1h) if rows are only missing, else resample to a regular step first");
}

std::string Placed(const Column& c, std::string_view frequency) {
  const auto grid = PlaceOnGrid(c.view(), *ParseFrequency(frequency));
  return grid.ok() ? FrequencyText(grid->frequency) : std::string(grid.status().message());
}

TEST(PlaceOnGrid, LeavesGapsOpen) {
  const Column c = Every("2024-01-01", "h", 6, {1, 4});
  const auto grid = PlaceOnGrid(c.view(), *ParseFrequency("h"));
  ASSERT_TRUE(grid.ok()) << grid.status();
  EXPECT_EQ(grid->length, 6);
  EXPECT_THAT(grid->positions, ElementsAre(0, 2, 3, 5));
  const std::vector<double> values{10, 20, 30, 40};
  const std::vector<double> y = OnGrid(*grid, values);
  EXPECT_THAT(std::vector<double>({y[0], y[2], y[3], y[5]}), ElementsAre(10, 20, 30, 40));
  EXPECT_TRUE(std::isnan(y[1]) && std::isnan(y[4]));
  EXPECT_EQ(FormatTime(Advance(grid->origin, grid->frequency, grid->length), c.style), "2024-01-01T06:00");
}

TEST(PlaceOnGrid, OneRowWillDo) {
  const auto grid = PlaceOnGrid(Read({"2024-01-31"}).view(), *ParseFrequency("M"));
  ASSERT_TRUE(grid.ok()) << grid.status();
  EXPECT_EQ(grid->length, 1);
  EXPECT_EQ(FrequencyText(grid->frequency), "ME");
}

TEST(PlaceOnGrid, MonthsTakeTheirDayFromTheData) {
  EXPECT_EQ(Placed(Every("2023-01-31", "ME", 5), "M"), "ME");
  EXPECT_EQ(Placed(Every("2023-02-28", "ME", 5), "M"), "ME");
  EXPECT_EQ(Placed(Every("2023-01-01", "MS", 5), "M"), "MS");
  EXPECT_EQ(Placed(Every("2023-03-31", "QE", 5), "Q"), "QE");
  EXPECT_EQ(Placed(Read({"2023-02-28"}), "MS"),
            "row 1 (2023-02-28) is off the grid of MS that starts at 2023-02-28; the nearest grid time is "
            "2023-03-01");
  const Column c = Read({"2023-02-28", "2023-03-30", "2023-04-30"});
  EXPECT_EQ(PlaceOnGrid(c.view(), *ParseFrequency("M"))->frequency.month_day, 30);
}

TEST(PlaceOnGrid, OffsetsMayChange) {
  const Column daily = Read({"2023-10-28T00:00+02:00", "2023-10-29T00:00+02:00", "2023-10-30T00:00+01:00"});
  const auto grid = PlaceOnGrid(daily.view(), *ParseFrequency("D"));
  ASSERT_TRUE(grid.ok()) << grid.status();
  EXPECT_EQ(FormatTime(Advance(grid->origin, grid->frequency, 3), daily.style), "2023-10-31T00:00+01:00");
  const Column hourly = Read({"2023-10-29T01:00+02:00", "2023-10-29T02:00+02:00", "2023-10-29T02:00+01:00"});
  const auto hours = PlaceOnGrid(hourly.view(), *ParseFrequency("h"));
  ASSERT_TRUE(hours.ok()) << hours.status();
  EXPECT_EQ(hours->length, 3);
  EXPECT_EQ(FormatTime(Advance(hours->origin, hours->frequency, 3), hourly.style), "2023-10-29T03:00+01:00");
}

TEST(PlaceOnGrid, Refuses) {
  EXPECT_EQ(Placed(Read({}), "h"), "the series has no rows");
  EXPECT_EQ(
      Placed(Read({"2024-01-01T00:00", "2024-01-01T00:05", "2024-01-01T00:14"}), "5min"),
      "row 3 (2024-01-01T00:14) is off the grid of 5min that starts at 2024-01-01T00:00; the nearest grid "
      "time is 2024-01-01T00:15");
  EXPECT_EQ(Placed(Read({"2024-01-05", "2024-01-07"}), "B"),
            "row 2 (2024-01-07) is off the grid of B that starts at 2024-01-05; the nearest grid time is "
            "2024-01-08");
  EXPECT_EQ(Placed(Read({"2023-03-25T22:00", "2023-03-26T00:00", "2023-03-26T03:00"}), "2h"),
            std::string("row 3 (2023-03-26T03:00) is off the grid of 2h that starts at 2023-03-25T22:00; the "
                        "nearest grid time is 2023-03-26T02:00") +
                kClock);
  const auto coarse = [](std::string given, std::string step, std::string rest) {
    return StrCat("the given frequency ", given, " is coarser than the data, whose step seems to be ", step,
                  ": ", rest, "; give --freq ", step, " or leave it out, or resample the rows to ", given,
                  " first");
  };
  // A Sunday in March at night: no word of clocks, since no row fits the grid.
  EXPECT_EQ(
      Placed(Every("2023-03-26T00:00", "h", 10), "2h"),
      coarse("2h", "h",
             "row 2 (2023-03-26T01:00) lies between the grid times 2023-03-26T00:00 and 2023-03-26T02:00"));
  EXPECT_EQ(Placed(Every("2024-01-01", "D", 40, {3}), "MS"),
            coarse("MS", "D", "row 2 (2024-01-02) lies between the grid times 2024-01-01 and 2024-02-01"));
  EXPECT_EQ(Placed(Every("2024-01-01", "B", 40), "W"),
            coarse("W", "B", "row 2 (2024-01-02) lies between the grid times 2024-01-01 and 2024-01-08"));
  EXPECT_EQ(
      Placed(Every("2024-01-01T00:00", "h", 40), "D"),
      coarse("D", "h",
             "row 2 (2024-01-01T01:00) lies between the grid times 2024-01-01T00:00 and 2024-01-02T00:00"));
  EXPECT_THAT(Placed(Read({"2024-01-02", "2024-01-01"}), "D"), ::testing::HasSubstr("lies before row 1"));
  EXPECT_EQ(
      Placed(Read({"1970-01-01", "2024-01-01"}), "s"),
      "a grid of s from 1970-01-01 to 2024-01-01 has 1704067201 times for 2 rows; give the frequency that "
      "the rows have (--freq)");
}

}  // namespace
}  // namespace plinth::series
