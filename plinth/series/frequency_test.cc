#include "plinth/series/frequency.h"

#include <limits>
#include <string>

#include "gtest/gtest.h"

namespace plinth::series {
namespace {

using Kind = Frequency::Kind;

Frequency Parse(std::string_view text) {
  const auto f = ParseFrequency(text);
  EXPECT_TRUE(f.ok()) << f.status();
  return f.ok() ? *f : Frequency{};
}

std::string Walk(std::string_view from, std::string_view frequency, int64_t n) {
  TimeReader reader;
  const Timestamp t = *reader.Read(from);
  return FormatTime(Advance(t, Parse(frequency), n), reader.style());
}

TEST(Frequency, ReadsThePandasSpellings) {
  const auto canonical = [](std::string_view text) { return FrequencyText(Parse(text)); };
  for (auto [text, want] : {std::pair{"30min", "30min"},
                            {"30T", "30min"},
                            {"30 min", "30min"},
                            {"15 minutes", "15min"},
                            {"1h", "h"},
                            {"H", "h"},
                            {"hour", "h"},
                            {"24h", "24h"},
                            {"90min", "90min"},
                            {"60min", "h"},
                            {"S", "s"},
                            {"500ms", "500ms"},
                            {"L", "ms"},
                            {"1000ms", "s"},
                            {"us", "us"},
                            {"D", "D"},
                            {"2d", "2D"},
                            {"7D", "W"},
                            {"W", "W"},
                            {"W-SUN", "W"},
                            {"2w", "2W"},
                            {"B", "B"},
                            {"M", "M"},
                            {"MS", "MS"},
                            {"ME", "ME"},
                            {"3MS", "QS"},
                            {"Q", "Q"},
                            {"Q-DEC", "Q"},
                            {"QS", "QS"},
                            {"QS-FEB", "QS"},
                            {"QE-MAR", "QE"},
                            {"2QS", "2QS"},
                            {"Y", "Y"},
                            {"A", "Y"},
                            {"A-JUN", "Y"},
                            {"AS", "YS"},
                            {"YE-DEC", "YE"},
                            {"12MS", "YS"},
                            {"5 years", "5Y"},
                            {"min", "min"},
                            {"2Days", "2D"},
                            {"0001h", "h"}}) {
    EXPECT_EQ(canonical(text), want) << text;
    EXPECT_EQ(Parse(canonical(text)), Parse(text)) << text;
  }
}

TEST(Frequency, RefusesWithTheReason) {
  const auto why = [](std::string_view text) { return std::string(ParseFrequency(text).status().message()); };
  EXPECT_EQ(why("5m"),
            "frequency \"5m\" may mean minutes, months or milliseconds; write min, MS (month starts) or ms");
  EXPECT_EQ(why("10ns"),
            "frequency \"10ns\" is finer than times are kept; the finest unit is us (microseconds)");
  const std::string unknown =
      " is unknown; it can be a whole number and one of us, ms, s, min, h, D, B, W, M, MS, ME, Q, QS, QE, Y, "
      "YS, YE, for example 30min";
  for (const std::string bad :
       {"", "5", "x", "1.5h", "-1h", "1h30min", "W-DEC", "Q-SUN", "D-SUN", "W-XXX", "BME", "hh", "Ds"}) {
    EXPECT_EQ(why(bad), StrCat("frequency \"", bad, "\"", unknown));
  }
  EXPECT_EQ(why("0h"), "frequency \"0h\" does not move; the number must be at least 1");
  EXPECT_EQ(why("1001Y"), "frequency \"1001Y\" spans more than 1000 years");
  EXPECT_EQ(why("99999999999999999999h"), "frequency \"99999999999999999999h\" spans more than 1000 years");
}

TEST(Advance, FixedSteps) {
  EXPECT_EQ(Walk("2024-02-28T23:30", "30min", 1), "2024-02-29T00:00");
  EXPECT_EQ(Walk("2024-02-28", "D", 2), "2024-03-01");
  EXPECT_EQ(Walk("2024-01-01", "W", -1), "2023-12-25");
  EXPECT_EQ(Walk("1970-01-01T00:00", "h", -1), "1969-12-31T23:00");
  EXPECT_EQ(Walk("2024-01-01T00:00+01:00", "D", 1), "2024-01-02T00:00+01:00");
}

TEST(Advance, MonthsKeepTheirEnds) {
  EXPECT_EQ(Walk("2023-01-31", "ME", 1), "2023-02-28");
  EXPECT_EQ(Walk("2023-02-28", "ME", 1), "2023-03-31");
  EXPECT_EQ(Walk("2023-02-28", "ME", 12), "2024-02-29");
  EXPECT_EQ(Walk("2023-02-28", "M", 1), "2023-03-28");
  EXPECT_EQ(Walk("2023-01-30", "M", 1), "2023-02-28");
  EXPECT_EQ(Walk("2023-01-30", "M", 2), "2023-03-30");
  EXPECT_EQ(Walk("2023-11-01", "MS", 3), "2024-02-01");
  EXPECT_EQ(Walk("2023-11-01", "MS", -11), "2022-12-01");
  EXPECT_EQ(Walk("2023-03-31", "QE", 1), "2023-06-30");
  EXPECT_EQ(Walk("2024-02-29", "Y", 1), "2025-02-28");
  EXPECT_EQ(Walk("2023-01-31T08:00", "ME", 1), "2023-02-28T08:00");
}

TEST(Advance, BusinessDaysSkipWeekends) {
  EXPECT_EQ(Walk("2024-01-05", "B", 1), "2024-01-08");  // Friday to Monday
  EXPECT_EQ(Walk("2024-01-05", "B", 5), "2024-01-12");
  EXPECT_EQ(Walk("2024-01-08", "B", -1), "2024-01-05");
  EXPECT_EQ(Walk("1969-12-29", "B", 4), "1970-01-02");
  EXPECT_EQ(Walk("1969-12-29", "B", -1), "1969-12-26");
  EXPECT_EQ(Walk("2024-01-04", "2B", 1), "2024-01-08");
}

TEST(Advance, StopsAtTheEndOfTime) {
  for (const char* f : {"us", "h", "D", "B", "ME", "1000Y"}) {
    const Timestamp origin{0, 60};
    EXPECT_EQ(Advance(origin, Parse(f), std::numeric_limits<int64_t>::max()).local(), kLastMicros) << f;
    EXPECT_EQ(Advance(origin, Parse(f), std::numeric_limits<int64_t>::min()).local(), kFirstMicros) << f;
  }
}

TEST(StepsUpTo, InvertsAdvance) {
  TimeReader reader;
  for (const char* f : {"7min", "h", "D", "3D", "W", "B", "2B", "M", "MS", "ME", "QE", "Y"}) {
    const Frequency frequency = Parse(f);
    const int day = frequency.month_day == 1 ? 1 : 31;
    const Timestamp origin{DaysFromCivil(2019, 1, day) * kMicrosPerDay + kMicrosPerHour, 0};
    for (int64_t n = -500; n < 500; ++n) {
      const Timestamp t = Advance(origin, frequency, n);
      ASSERT_EQ(StepsUpTo(origin, frequency, t), n) << f;
      ASSERT_EQ(StepsUpTo(origin, frequency, {t.micros - 1, 0}), n - 1) << f;
      ASSERT_EQ(StepsUpTo(origin, frequency, {t.micros + 1, 0}), n) << f;
    }
  }
}

TEST(DefaultSeason, Table) {
  for (auto [text, want] : {std::pair{"100ms", 10},
                            {"ms", 1000},
                            {"s", 60},
                            {"10s", 6},
                            {"min", 1440},
                            {"5min", 288},
                            {"10min", 144},
                            {"15min", 96},
                            {"30min", 48},
                            {"h", 24},
                            {"7min", 1},
                            {"12h", 2},
                            {"D", 7},
                            {"24h", 7},
                            {"2D", 1},
                            {"B", 5},
                            {"W", 52},
                            {"2W", 26},
                            {"4W", 13},
                            {"3W", 1},
                            {"M", 12},
                            {"MS", 12},
                            {"ME", 12},
                            {"2MS", 6},
                            {"Q", 4},
                            {"QE", 4},
                            {"Y", 1},
                            {"5Y", 1},
                            {"us", 1000000}}) {
    EXPECT_EQ(DefaultSeason(Parse(text)), want) << text;
  }
}

}  // namespace
}  // namespace plinth::series
