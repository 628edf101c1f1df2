// Converts between microseconds since 1970 and dates of the proleptic Gregorian calendar.
#pragma once

#include <cstdint>

namespace plinth::series {

inline constexpr int64_t kMicrosPerSecond = 1'000'000;
inline constexpr int64_t kMicrosPerMinute = 60 * kMicrosPerSecond;
inline constexpr int64_t kMicrosPerHour = 60 * kMicrosPerMinute;
inline constexpr int64_t kMicrosPerDay = 24 * kMicrosPerHour;

// A date and time as read off a calendar and a clock.
struct CivilTime {
  int year = 1970, month = 1, day = 1;  // month 1 .. 12, day 1 .. DaysInMonth
  int hour = 0, minute = 0, second = 0, micro = 0;
};

// Quotient rounded towards minus infinity, for times before 1970. b > 0.
constexpr int64_t FloorDiv(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

// Days since 1970-01-01. Any month number: 13 is January of the next year.
// Method: Howard Hinnant, "chrono-compatible low-level date algorithms", days_from_civil.
constexpr int64_t DaysFromCivil(int64_t year, int64_t month, int64_t day) {
  year += FloorDiv(month - 1, 12);
  month = month - 12 * FloorDiv(month - 1, 12);
  year -= month <= 2 ? 1 : 0;
  const int64_t era = FloorDiv(year, 400);
  const int64_t year_of_era = year - era * 400;
  const int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  return era * 146097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719468;
}

// 28 to 31. month 1 .. 12.
constexpr int DaysInMonth(int64_t year, int month) {
  return static_cast<int>(DaysFromCivil(year, month + 1, 1) - DaysFromCivil(year, month, 1));
}

// 0 for Monday to 6 for Sunday of a day since 1970-01-01 (a Thursday).
constexpr int Weekday(int64_t day) { return static_cast<int>(day + 3 - 7 * FloorDiv(day + 3, 7)); }

int64_t MicrosFromCivil(const CivilTime& civil);
CivilTime CivilFromMicros(int64_t micros);

// The years that stamps may name; microseconds since 1970 cover far more.
inline constexpr int kFirstYear = 1, kLastYear = 9999;
inline constexpr int64_t kFirstMicros = DaysFromCivil(kFirstYear, 1, 1) * kMicrosPerDay;
inline constexpr int64_t kLastMicros = DaysFromCivil(kLastYear + 1, 1, 1) * kMicrosPerDay - 1;

}  // namespace plinth::series
