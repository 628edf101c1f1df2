#include "plinth/series/timestamp.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "plinth/series/time_pattern.h"

namespace plinth::series {
namespace {

// Seconds since 1970 from `date -u -d ... +%s`.
constexpr int64_t k20240131 = 1706659200;
constexpr int64_t k20000229 = 951782400;

TEST(CivilTime, KnownDays) {
  EXPECT_EQ(DaysFromCivil(1970, 1, 1), 0);
  EXPECT_EQ(DaysFromCivil(2000, 2, 29) * 86400, k20000229);
  EXPECT_EQ(DaysFromCivil(2024, 1, 31) * 86400, k20240131);
  EXPECT_EQ(DaysFromCivil(2023, 13, 31), DaysFromCivil(2024, 1, 31));
  EXPECT_EQ(DaysFromCivil(1, 1, 1), -719162);  // Python: date(1, 1, 1).toordinal() - 719163
  EXPECT_EQ(DaysFromCivil(9999, 12, 31), 2932896);
  EXPECT_EQ(DaysInMonth(2024, 2), 29);
  EXPECT_EQ(DaysInMonth(1900, 2), 28);
  EXPECT_EQ(DaysInMonth(2000, 2), 29);
  EXPECT_EQ(DaysInMonth(2023, 12), 31);
  EXPECT_EQ(Weekday(0), 3);   // Thursday
  EXPECT_EQ(Weekday(-3), 0);  // Monday
  EXPECT_EQ(Weekday(-4), 6);
}

TEST(CivilTime, EveryDayOfSixCenturiesRoundTrips) {
  for (int64_t day = DaysFromCivil(1600, 1, 1); day < DaysFromCivil(2200, 1, 1); ++day) {
    const CivilTime c = CivilFromMicros(day * kMicrosPerDay + 86'399'999'999);
    ASSERT_EQ(DaysFromCivil(c.year, c.month, c.day), day);
    ASSERT_EQ(c.hour, 23);
    ASSERT_EQ(c.micro, 999'999);
  }
  for (int64_t micros : {kFirstMicros, kLastMicros, int64_t{-1}, int64_t{0}}) {
    EXPECT_EQ(MicrosFromCivil(CivilFromMicros(micros)), micros);
  }
}

Timestamp Read(std::string_view text) {
  TimeReader reader;
  const auto t = reader.Read(text);
  EXPECT_TRUE(t.ok()) << t.status();
  return t.ok() ? *t : Timestamp{};
}

TEST(TimeReader, ReadsIso) {
  const int64_t day = k20240131 * kMicrosPerSecond, half_past = day + 30 * kMicrosPerMinute;
  EXPECT_EQ(Read("2024-01-31"), (Timestamp{day, 0}));
  EXPECT_EQ(Read("2024/1/31"), (Timestamp{day, 0}));
  EXPECT_EQ(Read("2024-01"), (Timestamp{day - 30 * kMicrosPerDay, 0}));
  EXPECT_EQ(Read(" 2024-01-31T00:30\r"), (Timestamp{half_past, 0}));
  EXPECT_EQ(Read("2024-01-31 00:30:00"), (Timestamp{half_past, 0}));
  EXPECT_EQ(Read("2024/1/31 0:30"), (Timestamp{half_past, 0}));
  EXPECT_EQ(Read("20240131T003000Z"), (Timestamp{half_past, 0}));
  EXPECT_EQ(Read("2024-01-31T00:30:00.25"), (Timestamp{half_past + 250'000, 0}));
  EXPECT_EQ(Read("2024-01-31T00:30:00,123456789"), (Timestamp{half_past + 123'456, 0}));
  EXPECT_EQ(Read("2024-01-30T24:00"), (Timestamp{day, 0}));
  EXPECT_EQ(Read("2024-01-31T01:30:00+01:00"), (Timestamp{half_past, 60}));
  EXPECT_EQ(Read("2024-01-31 01:30:00 +0100"), (Timestamp{half_past, 60}));
  EXPECT_EQ(Read("2024-01-30T19:00-05:30"), (Timestamp{half_past, -330}));
  EXPECT_EQ(Read("2024-01-31T02:30+02").local(), half_past + 2 * kMicrosPerHour);
  EXPECT_EQ(Read("1969-12-31T23:59:59.5Z"), (Timestamp{-500'000, 0}));
  EXPECT_EQ(Read("0001-01-01").micros, kFirstMicros);
  EXPECT_EQ(Read("9999-12-31T23:59:59.999999").micros, kLastMicros);
}

TEST(TimeReader, ReadsCountsSince1970) {
  const int64_t want = k20240131 * kMicrosPerSecond;
  EXPECT_EQ(Read("1706659200"), (Timestamp{want, 0}));
  EXPECT_EQ(Read("1706659200.0"), (Timestamp{want, 0}));
  EXPECT_EQ(Read("1706659200.125"), (Timestamp{want + 125'000, 0}));
  EXPECT_EQ(Read("1706659200000"), (Timestamp{want, 0}));
  EXPECT_EQ(Read("1706659200000.5"), (Timestamp{want + 500, 0}));
  EXPECT_EQ(Read("1706659200000000"), (Timestamp{want, 0}));
  EXPECT_EQ(Read("1706659200000000999"), (Timestamp{want, 0}));
}

TEST(TimeReader, TheUnitOfTheFirstCountHolds) {
  TimeReader reader;
  ASSERT_TRUE(reader.Read("100000000").ok());
  EXPECT_EQ(reader.Read("99999940")->micros, 99'999'940 * kMicrosPerSecond);
  EXPECT_EQ(reader.Read("-60")->micros, -60 * kMicrosPerSecond);
  EXPECT_EQ(reader.Read("999999999999").status().message(),
            "\"999999999999\" lies outside the years 1 to 9999");
}

std::string Message(std::string_view text) {
  TimeReader reader;
  return std::string(std::string_view(reader.Read(text).status().message().data(),
                                      reader.Read(text).status().message().size()));
}

TEST(TimeReader, SaysWhatIsWrong) {
  const std::string form =
      "\" is not a time; expected ISO 8601 (2024-01-31, 2024-01-31T00:30:00, with or without offset) or "
      "seconds or milliseconds since 1970; other forms need a time format such as \"%d.%m.%Y %H:%M\"";
  for (const std::string bad : {"",
                                "x",
                                "31.01.2024",
                                "2024",
                                "12.5",
                                "20240131",
                                "2024-01-31T",
                                "2024-01-31T00",
                                "2024-01-31T00:3",
                                "2024-01-31T00:30:",
                                "2024-01-31T00:30:00.",
                                "2024-01-31T00:30+",
                                "2024-01-31T00:30+1",
                                "2024-01-31T00:30+24:00",
                                "2024-01-31T00:30+01:60",
                                "2024-01-31T00:30Zx",
                                "2024-01-31X00:30",
                                "2024-01/31",
                                "2024-001-31",
                                "-2024-01-31",
                                "2024-01-311",
                                "99999999999999999999"}) {
    EXPECT_EQ(Message(bad), "\"" + bad + form);
  }
  EXPECT_EQ(Message("2024-13-01"), "\"2024-13-01\" is not a time: month 13; expected 1 to 12");
  EXPECT_EQ(Message("2023-02-29"), "\"2023-02-29\" is not a time: day 29; expected 1 to 28");
  EXPECT_EQ(Message("2024-01-01T25:00"), "\"2024-01-01T25:00\" is not a time: hour 25; expected 0 to 23");
  EXPECT_EQ(Message("2024-01-01T24:01"), "\"2024-01-01T24:01\" is not a time: hour 24; expected 0 to 23");
  EXPECT_EQ(Message("2024-01-01T00:60"), "\"2024-01-01T00:60\" is not a time: minute 60; expected 0 to 59");
  EXPECT_EQ(Message("2024-01-01T00:00:60"),
            "\"2024-01-01T00:00:60\" is not a time: second 60; expected 0 to 59");
  EXPECT_EQ(Message("0000-01-01"), "\"0000-01-01\" is not a time: year 0; expected 1 to 9999");
}

TEST(TimeReader, OneFormPerColumn) {
  TimeReader reader;
  ASSERT_TRUE(reader.Read("2024-01-01T00:00Z").ok());
  ASSERT_TRUE(reader.Read("2024-01-01T00:00+02:00").ok());
  EXPECT_EQ(
      reader.Read("2024-01-01T01:00").status().message(),
      "\"2024-01-01T01:00\" has no offset from UTC, but the rows before have one; a time column needs it "
      "in all rows or in none");
  EXPECT_EQ(reader.Read("1706659200").status().message(),
            "\"1706659200\" is a plain number, but the rows before hold dates; a time column needs one form");
  TimeReader local, epoch;
  ASSERT_TRUE(local.Read("2024-01-01").ok());
  EXPECT_EQ(
      local.Read("2024-01-01T01:00Z").status().message(),
      "\"2024-01-01T01:00Z\" has an offset from UTC, but the rows before have none; a time column needs "
      "it in all rows or in none");
  ASSERT_TRUE(epoch.Read("1706659200").ok());
  EXPECT_EQ(
      epoch.Read("2024-01-01").status().message(),
      "\"2024-01-01\" is no number, but the rows before hold counts since 1970; a time column needs one "
      "form");
}

// Reads the cells, then writes each in the style of all.
std::vector<std::string> Again(const std::vector<std::string>& cells) {
  TimeReader reader;
  std::vector<Timestamp> times;
  for (const std::string& cell : cells) times.push_back(*reader.Read(cell));
  std::vector<std::string> out;
  for (const Timestamp& t : times) out.push_back(FormatTime(t, reader.style()));
  return out;
}

TEST(FormatTime, KeepsTheStyle) {
  for (const std::string cell : {"2024-01-31",
                                 "2024/01/31",
                                 "2024/1/5",
                                 "2024-01",
                                 "2024-01-31T00:30",
                                 "2024-01-31 00:30:00",
                                 "2024-01-31T00:30:00.250",
                                 "2024-01-31T00:30:00Z",
                                 "2024-01-31T00:30:00+01:00",
                                 "2024-01-31T00:30:00-0530",
                                 "2024-01-31T00:30+02",
                                 "2024/1/5 0:30",
                                 "20240131T003000",
                                 "20240131T0030Z",
                                 "1706659200",
                                 "1706659200.125",
                                 "1706659200125",
                                 "1706659200125.5",
                                 "1706659200000001",
                                 "1706659200000001000",
                                 "0987-06-05"}) {
    EXPECT_EQ(Again({cell}), std::vector<std::string>{cell});
  }
}

TEST(FormatTime, WritesMoreOnlyWhereNeeded) {
  TimeStyle date;
  EXPECT_EQ(FormatTime({k20240131 * kMicrosPerSecond, 0}, date), "2024-01-31");
  EXPECT_EQ(FormatTime({k20240131 * kMicrosPerSecond + kMicrosPerHour, 0}, date), "2024-01-31T01:00");
  EXPECT_EQ(FormatTime({k20240131 * kMicrosPerSecond + 1, 0}, date), "2024-01-31T00:00:00.000001");
  EXPECT_EQ(FormatTime({k20240131 * kMicrosPerSecond + 5000, 0}, date), "2024-01-31T00:00:00.005");
  date.has_day = false;
  EXPECT_EQ(FormatTime({k20240131 * kMicrosPerSecond, 0}, date), "2024-01-31");
  EXPECT_EQ(Again({"2024-01-01", "2024-01-01 12:00:30"}),
            (std::vector<std::string>{"2024-01-01 00:00:00", "2024-01-01 12:00:30"}));
  EXPECT_EQ(Again({"2024-01-01T00:00:00", "2024-01-01T00:00:00.5"})[0], "2024-01-01T00:00:00.0");
  EXPECT_EQ(Again({"2024-01-01T00:00:00Z", "2024-01-01T00:00:00+01:00"})[1], "2024-01-01T00:00:00+01:00");
  EXPECT_EQ(Again({"1706659200", "1706659200.50"})[0], "1706659200.00");
}

TEST(LooksLikeTime, NumbersRiseWithinEachItem) {
  const std::vector<std::string_view> cells = {"1600007200", "1600010800", "1600000000", "1600003600"};
  const std::vector<std::string_view> apart = {"a", "a", "b", "b"}, mixed = {"a", "b", "a", "b"};
  EXPECT_TRUE(LooksLikeTime(cells, apart));  // b begins earlier
  EXPECT_FALSE(LooksLikeTime(cells, mixed));
  EXPECT_FALSE(LooksLikeTime(cells));
}

TEST(LooksLikeTime, TextAlwaysAndNumbersOnlyWhenTheyRise) {
  const auto looks = [](std::vector<std::string_view> cells) { return LooksLikeTime(cells); };
  EXPECT_TRUE(looks({"2024-01-02", "", "2024-01-01"}));
  EXPECT_TRUE(looks({"1706659200", "1706662800"}));
  EXPECT_TRUE(looks({"1706659200", "1706662800", "1706659200", "1706662800"}));  // two items
  EXPECT_FALSE(looks({"170665920", "170667280", "170660920"}));                  // a measured value
  EXPECT_FALSE(looks({"12.5", "13"}));
  EXPECT_FALSE(looks({"2024-01-01", "x"}));
  EXPECT_FALSE(looks({"", ""}));
  EXPECT_FALSE(looks({}));
}

Timestamp ByPattern(std::string_view text, std::string_view pattern) {
  const auto t = ReadByPattern(text, pattern);
  EXPECT_TRUE(t.ok()) << t.status();
  return t.ok() ? *t : Timestamp{};
}

TEST(TimePattern, Reads) {
  const int64_t half_past = k20240131 * kMicrosPerSecond + 30 * kMicrosPerMinute;
  EXPECT_EQ(ByPattern("31.01.2024 00:30", "%d.%m.%Y %H:%M").micros, half_past);
  EXPECT_EQ(ByPattern("1/31/24 12:30 AM", "%m/%d/%y %I:%M %p").micros, half_past);
  EXPECT_EQ(ByPattern("1/31/24 12:30 pm", "%m/%d/%y %I:%M %p").micros, half_past + 12 * kMicrosPerHour);
  EXPECT_EQ(ByPattern("Wed, 31 Jan 2024 00:30:00 +0000", "%a, %d %b %Y %T %z").micros, half_past);
  EXPECT_EQ(ByPattern("31 january 2024", "%e %B %Y").micros, k20240131 * kMicrosPerSecond);
  EXPECT_EQ(ByPattern("2024-031", "%Y-%j").micros, k20240131 * kMicrosPerSecond);
  EXPECT_EQ(ByPattern("202401310030", "%Y%m%d%H%M").micros, half_past);
  EXPECT_EQ(ByPattern("2024-01-31T00:30:00.5+01:00", "%FT%T.%f%z"),
            (Timestamp{half_past + 500'000 - kMicrosPerHour, 60}));
  EXPECT_EQ(ByPattern("1949", "%Y").micros, DaysFromCivil(1949, 1, 1) * kMicrosPerDay);
  EXPECT_EQ(ByPattern("100% 2024", "100%% %Y").micros, DaysFromCivil(2024, 1, 1) * kMicrosPerDay);
}

TEST(TimePattern, Writes) {
  const Timestamp t{(k20240131 + 13 * 3600 + 5 * 60 + 9) * kMicrosPerSecond + 42, 0};
  EXPECT_EQ(WriteByPattern(t, "%d.%m.%Y %H:%M"), "31.01.2024 13:05");
  EXPECT_EQ(WriteByPattern(t, "%a %A %b %B %e %j %I:%M:%S %p %f %y %z %%"),
            "Wed Wednesday Jan January 31 031 01:05:09 PM 000042 24 +0000 %");
  EXPECT_EQ(WriteByPattern({t.micros, 330}, "%F %T %z"), "2024-01-31 18:35:09 +0530");
}

TEST(TimePattern, RefusesPatterns) {
  EXPECT_EQ(TimeReader::ForPattern("%d.%m").status().message(),
            "time format \"%d.%m\" has no year; it needs %Y or %y, for example %d.%m.%Y %H:%M");
  EXPECT_EQ(
      TimeReader::ForPattern("%Y %Q").status().message(),
      "time format \"%Y %Q\": \"%Q\" is unknown; there are %Y %y %m %d %e %j %H %I %p %M %S %f %z %b %B "
      "%h %a %A %F %T %R %%");
  EXPECT_FALSE(TimeReader::ForPattern("%Y%").ok());
}

TEST(TimePattern, RefusesTexts) {
  auto reader = TimeReader::ForPattern("%d.%m.%Y %H:%M");
  ASSERT_TRUE(reader.ok());
  EXPECT_TRUE(reader->style().is_local());
  EXPECT_TRUE(reader->Read(" 1.2.2024 3:04 ").ok());
  EXPECT_EQ(
      reader->Read("31-01-2024 00:30").status().message(),
      "\"31-01-2024 00:30\" does not fit the time format \"%d.%m.%Y %H:%M\": at character 3 expected .");
  EXPECT_EQ(reader->Read("31.01.24 00:30").status().message(),
            "\"31.01.24 00:30\" does not fit the time format \"%d.%m.%Y %H:%M\": at character 7 expected %Y");
  EXPECT_EQ(
      reader->Read("31.01.2024").status().message(),
      "\"31.01.2024\" does not fit the time format \"%d.%m.%Y %H:%M\": at character 11 expected a space");
  EXPECT_EQ(reader->Read("31.01.2024 00:30:00").status().message(),
            "\"31.01.2024 00:30:00\" does not fit the time format \"%d.%m.%Y %H:%M\": \":00\" is left over");
  EXPECT_EQ(reader->Read("31.02.2024 00:30").status().message(),
            "\"31.02.2024 00:30\" is not a time: day 31; expected 1 to 29");
  EXPECT_EQ(ReadByPattern("2023-366", "%Y-%j").status().message(),
            "\"2023-366\" is not a time: day of the year 366; expected 1 to 365");
  EXPECT_EQ(ReadByPattern("2023 13 PM", "%Y %I %p").status().message(),
            "\"2023 13 PM\" is not a time: hour 13 beside AM or PM; expected 1 to 12");
}

}  // namespace
}  // namespace plinth::series
