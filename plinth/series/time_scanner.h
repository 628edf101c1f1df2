// Scans the parts of a stamp; shared by the ISO reader and the pattern reader.
#pragma once

#include <cstdint>
#include <string_view>

#include "plinth/base/status.h"
#include "plinth/series/timestamp.h"

namespace plinth::series {

// Takes characters from the front of a text. What does not match leaves the rest untouched.
struct TimeScanner {
  std::string_view rest;

  bool Take(char c) {
    if (rest.empty() || rest[0] != c) return false;
    rest.remove_prefix(1);
    return true;
  }
  // The number of digits at the front.
  int Digits() const {
    int n = 0;
    while (n < static_cast<int>(rest.size()) && rest[n] >= '0' && rest[n] <= '9') ++n;
    return n;
  }
  // Between `fewest` and `most` digits as a number, or -1.
  int Number(int fewest, int most) {
    const int n = Digits() < most ? Digits() : most;
    if (n < fewest) return -1;
    int value = 0;
    for (int i = 0; i < n; ++i) value = value * 10 + (rest[i] - '0');
    rest.remove_prefix(n);
    return value;
  }
  // Decimals of a second in microseconds, finer digits dropped, and how many there were; -1 without any.
  int Fraction(int* digits) {
    *digits = Digits();
    if (*digits == 0) return -1;
    int micros = 0;
    for (int i = 0; i < 6; ++i) micros = micros * 10 + (i < *digits ? rest[i] - '0' : 0);
    rest.remove_prefix(*digits);
    return micros;
  }
  // Z, +hh, +hhmm or +hh:mm into minutes east of UTC and the form; false if there is no offset.
  bool OffsetFrom(int32_t* minutes, TimeStyle::Offset* form);
};

// Checks every field and adds up. `text` is the whole stamp, for the message.
// 24:00:00 is the next midnight. Errors: InvalidArgument naming the field and its range.
StatusOr<Timestamp> CheckedTimestamp(std::string_view text, const CivilTime& civil, int32_t offset_minutes);

// Appends digits with leading zeros up to `width`.
void AppendNumber(std::string* out, int64_t value, int width);
void AppendOffset(std::string* out, int32_t minutes, TimeStyle::Offset form);

}  // namespace plinth::series
