// Reads points in time as files write them, and writes others in the same style.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "plinth/base/status.h"
#include "plinth/series/civil_time.h"

namespace plinth::series {

// A point in time to the microsecond.
struct Timestamp {
  // Since 1970-01-01T00:00:00: UTC where the style has offsets or counts seconds, else local time as written.
  int64_t micros = 0;
  int32_t offset_minutes = 0;  // east of UTC; 0 where none is written

  // What a clock on the wall showed, in microseconds since 1970-01-01T00:00:00 on that clock.
  int64_t local() const { return micros + offset_minutes * kMicrosPerMinute; }
  friend bool operator==(const Timestamp&, const Timestamp&) = default;
};

// How a column writes its stamps.
struct TimeStyle {
  enum class Kind { kIso, kEpoch, kPattern };
  enum class Offset { kNone, kZulu, kColon, kPlain, kHours };  // "", "Z", "+01:00", "+0100", "+01"

  Kind kind = Kind::kIso;
  char date_separator = '-';  // or '/'; 0 for the basic form 20240131T0030
  char time_separator = 'T';  // or ' '
  bool padded = true;         // two digits for month, day and hour
  bool has_day = true;        // false: "2024-01"
  bool has_time = false;
  bool has_seconds = false;
  int fraction_digits = 0;
  Offset offset = Offset::kNone;
  int64_t epoch_nanos = 0;  // kEpoch: nanoseconds in a unit
  std::string pattern;      // kPattern

  bool has_offset() const { return offset != Offset::kNone; }
  // Local time without offset is ambiguous in the nights in which clocks change.
  bool is_local() const { return kind != Kind::kEpoch && !has_offset(); }
};

// Reads the stamps of one column and learns its style on the way. Read understands
//  - ISO 8601 dates and times: 2024-01-31, 2024-01-31T00:30, 2024-01-31 00:30:00.125+01:00, 20240131T003000Z,
//    2024-01; also 2024/1/31 0:30; 24:00 is the next midnight. Offsets may change within a column, but
//    stamps with and without one may not mix;
//  - seconds, milliseconds, microseconds or nanoseconds since 1970, told apart by size (from 1973 on) at the
//    first stamp, decimals allowed;
//  - or, if one is given, a pattern (time_pattern.h).
// Digits below a microsecond are dropped. Years 1 to 9999.
class TimeReader {
 public:
  TimeReader() = default;

  // For `--time-format`. Errors: InvalidArgument for an unusable pattern.
  static StatusOr<TimeReader> ForPattern(std::string_view pattern);

  // Errors: InvalidArgument: what was found and what would be right; the caller adds file and row.
  StatusOr<Timestamp> Read(std::string_view text);

  const TimeStyle& style() const { return style_; }

 private:
  StatusOr<Timestamp> ReadIso(std::string_view text);
  StatusOr<Timestamp> ReadEpoch(std::string_view text);

  TimeStyle style_;
  bool started_ = false;
};

// Whether a column with these cells (some of its first; empty ones are passed over) is one of stamps. Plain
// numbers are only if they never fall within an item: measured values of that size would go up and down.
// items: what each cell's row belongs to; empty where nothing says so, and then numbers may fall back to the
// first, as they do where another series begins.
bool LooksLikeTime(std::span<const std::string_view> cells, std::span<const std::string_view> items = {});

// Writes t in the style: same separators, offset form and precision. More is written only where needed
// to name t: a time behind a date that is not at midnight, seconds, decimals.
std::string FormatTime(const Timestamp& t, const TimeStyle& style);

}  // namespace plinth::series
