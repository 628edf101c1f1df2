// Describes how far apart the rows of a series lie, and walks along that grid.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "plinth/base/status.h"
#include "plinth/series/timestamp.h"

namespace plinth::series {

// The step between two rows. Steps below a day are spans of absolute time; days, months and business days
// follow the local calendar, so that a daily row stays at its hour while the offset from UTC changes.
struct Frequency {
  enum class Kind { kMicros, kDays, kBusinessDays, kMonths };
  Kind kind = Kind::kMicros;
  int64_t count = 0;  // steps of the kind; at least 1 once set
  // kMonths: the day of the month that stamps fall on, the last one where a month is shorter: 1 for month
  // starts, 31 for month ends, 0 for "that of the first stamp".
  int month_day = 0;

  friend bool operator==(const Frequency&, const Frequency&) = default;
};

// Reads "30min", "1h", "15T", "D", "W", "MS", "ME", "QS", "Y" and the like, as pandas spells them, old and
// new: a whole number (1 if absent) and a unit:
//   us U | ms L | s S sec | min T | h H hour | D day | B (Monday to Friday) | W week | M month MS ME |
//   Q QS QE | Y A YS YE AS AE, units of words also in the plural.
// An anchor such as W-SUN or Q-DEC is accepted and means the same: grids start at the first stamp. M, Q and Y
// leave the day of the month to the data. 24h is a span of absolute time, D the same hour of the next day.
// Errors: InvalidArgument: unknown unit, with the list; "m" (minutes or months?); a count that is no whole
// number from 1 on, or spans more than 1000 years; nanoseconds.
StatusOr<Frequency> ParseFrequency(std::string_view text);

// The canonical spelling: "30min", "h", "D", "2W", "MS"; ParseFrequency reads it back as the same.
std::string FrequencyText(const Frequency& f);

// The stamp n steps after t (before it for n < 0), at the same offset. t must be on the grid: for
// business days from Monday to Friday, for months on month_day if that is set. Stops at the years 1 and 9999.
Timestamp Advance(const Timestamp& t, const Frequency& frequency, int64_t n);

// The largest n with Advance(origin, frequency, n) not after t.
int64_t StepsUpTo(const Timestamp& origin, const Frequency& frequency, const Timestamp& t);

// The season a seasonal method uses for this step unless told otherwise (`--season`), in steps: the next
// larger cycle, if it is a whole number of steps, else 1.
//   below 1 s -> a second   below 1 min -> a minute (1 s: 60)   below 1 day -> a day (1 min: 1440, 5 min:
//   288, 10 min: 144, 15 min: 96, 30 min: 48, 1 h: 24)   D -> 7   B -> 5   W -> 52   M -> 12   Q -> 4   Y ->
//   1
int64_t DefaultSeason(const Frequency& frequency);

}  // namespace plinth::series
