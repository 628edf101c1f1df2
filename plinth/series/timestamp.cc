#include "plinth/series/timestamp.h"

#include <algorithm>
#include <map>

#include "plinth/series/time_pattern.h"
#include "plinth/series/time_scanner.h"

namespace plinth::series {
namespace {

constexpr std::string_view kExamples =
    "expected ISO 8601 (2024-01-31, 2024-01-31T00:30:00, with or without offset) or seconds or milliseconds "
    "since 1970; other forms need a time format such as \"%d.%m.%Y %H:%M\"";

Status NotATime(std::string_view text) {
  return absl::InvalidArgumentError(StrCat("\"", text, "\" is not a time; ", kExamples));
}

std::string_view Trim(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r";
  const size_t begin = text.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
}

// Whether the text is a plain number: digits, perhaps a sign before and decimals behind.
bool IsNumber(std::string_view text) {
  TimeScanner scan{text};
  scan.Take('-');
  if (scan.Number(1, 1) < 0) return false;
  scan.rest.remove_prefix(scan.Digits());
  if (scan.Take('.')) scan.rest.remove_prefix(scan.Digits());
  return scan.rest.empty();
}

// Nanoseconds in the unit that makes a count of this size a time after 1973; 0 for smaller numbers.
int64_t EpochUnit(int64_t count) {
  if (count < 100'000'000) return 0;
  if (count < 100'000'000'000) return 1'000'000'000;
  if (count < 100'000'000'000'000) return 1'000'000;
  return count < 100'000'000'000'000'000 ? 1'000 : 1;
}

struct EpochParts {
  bool negative = false;
  int64_t count = 0;
  int64_t millionths = 0;
  int digits = 0;  // of the decimals
};

// False where the count does not fit 64 bits. text: a number (IsNumber).
bool ScanEpoch(std::string_view text, EpochParts& parts) {
  TimeScanner scan{text};
  parts.negative = scan.Take('-');
  for (; scan.Digits() > 0; scan.rest.remove_prefix(1)) {
    if (__builtin_mul_overflow(parts.count, 10, &parts.count) ||
        __builtin_add_overflow(parts.count, scan.rest[0] - '0', &parts.count)) {
      return false;
    }
  }
  if (scan.Take('.') && scan.Digits() > 0) parts.millionths = scan.Fraction(&parts.digits);
  return true;
}

struct IsoParts {
  CivilTime civil;
  int32_t offset_minutes = 0;
  TimeStyle style;
};

// "2024-01-31", "2024/1/31", "2024-01" or "20240131".
bool ScanDate(TimeScanner& scan, IsoParts& parts) {
  if (scan.Digits() == 8) {
    parts.style.date_separator = 0;
    parts.civil.year = scan.Number(4, 4);
    parts.civil.month = scan.Number(2, 2);
    parts.civil.day = scan.Number(2, 2);
    return true;
  }
  if (scan.Digits() != 4) return false;
  parts.civil.year = scan.Number(4, 4);
  const char separator = scan.Take('-') ? '-' : scan.Take('/') ? '/' : 0;
  if (separator == 0) return false;
  parts.style.date_separator = separator;
  const int month_digits = scan.Digits();
  parts.civil.month = scan.Number(1, 2);
  if (month_digits < 1 || month_digits > 2) return false;
  parts.style.padded = month_digits == 2;
  if (!scan.Take(separator)) {
    parts.style.has_day = false;
    return scan.rest.empty();
  }
  const int day_digits = scan.Digits();
  parts.civil.day = scan.Number(1, 2);
  parts.style.padded = parts.style.padded && day_digits == 2;
  return day_digits == 1 || day_digits == 2;
}

// "00:30", "0:30:00.25" or, in the basic form, "003000".
bool ScanClock(TimeScanner& scan, IsoParts& parts) {
  TimeStyle& style = parts.style;
  const bool basic = style.date_separator == 0;
  const int hour_digits = scan.Digits();
  parts.civil.hour = scan.Number(basic ? 2 : 1, 2);
  if (parts.civil.hour < 0) return false;
  style.padded = style.padded && hour_digits >= 2;
  if (!basic && !scan.Take(':')) return false;
  parts.civil.minute = scan.Number(2, 2);
  if (parts.civil.minute < 0) return false;
  if (basic ? scan.Digits() == 0 : !scan.Take(':')) return true;
  parts.civil.second = scan.Number(2, 2);
  if (parts.civil.second < 0) return false;
  style.has_seconds = true;
  if (scan.Take('.') || scan.Take(',')) {
    parts.civil.micro = scan.Fraction(&style.fraction_digits);
    style.fraction_digits = std::min(style.fraction_digits, 6);
    if (parts.civil.micro < 0) return false;
  }
  return true;
}

bool ScanIso(std::string_view text, IsoParts& parts) {
  TimeScanner scan{text};
  if (!ScanDate(scan, parts)) return false;
  if (scan.rest.empty()) return parts.style.date_separator != 0;
  parts.style.time_separator = scan.Take('T') || scan.Take('t') ? 'T' : scan.Take(' ') ? ' ' : 0;
  if (parts.style.time_separator == 0 || !ScanClock(scan, parts)) return false;
  parts.style.has_time = true;
  if (scan.rest.empty()) return true;
  scan.Take(' ');
  return scan.OffsetFrom(&parts.offset_minutes, &parts.style.offset) && scan.rest.empty();
}

// Keeps the form of the first stamp and the finest precision of all.
void Merge(TimeStyle& style, const TimeStyle& next) {
  if (!style.has_time && next.has_time) style.time_separator = next.time_separator;
  style.padded = style.padded && next.padded;
  style.has_day = style.has_day || next.has_day;
  style.has_time = style.has_time || next.has_time;
  style.has_seconds = style.has_seconds || next.has_seconds;
  style.fraction_digits = std::max(style.fraction_digits, next.fraction_digits);
}

std::string FormatEpoch(const Timestamp& t, const TimeStyle& style) {
  if (style.epoch_nanos <= 1000) {
    return style.epoch_nanos == 1000 || t.micros == 0 ? StrCat(t.micros) : StrCat(t.micros, "000");
  }
  const int64_t unit = style.epoch_nanos / 1000;  // microseconds
  const int64_t whole = t.micros / unit, part = t.micros % unit;
  std::string out = StrCat(t.micros < 0 && whole == 0 ? "-" : "", whole);
  if (part == 0 && style.fraction_digits == 0) return out;
  std::string decimals;
  AppendNumber(&decimals, part < 0 ? -part : part, unit == kMicrosPerSecond ? 6 : 3);
  const size_t needed = decimals.find_last_not_of('0') + 1;
  decimals.resize(std::max<size_t>(needed, style.fraction_digits), '0');
  return StrCat(out, ".", decimals);
}

void AppendClock(std::string* out, const CivilTime& civil, const TimeStyle& style) {
  const bool basic = style.date_separator == 0;
  AppendNumber(out, civil.hour, style.padded ? 2 : 1);
  if (!basic) *out += ':';
  AppendNumber(out, civil.minute, 2);
  if (!style.has_seconds && civil.second == 0 && civil.micro == 0) return;
  if (!basic) *out += ':';
  AppendNumber(out, civil.second, 2);
  std::string decimals;
  AppendNumber(&decimals, civil.micro, 6);
  const size_t needed = civil.micro == 0 ? 0 : civil.micro % 1000 == 0 ? 3 : 6;
  decimals.resize(std::max<size_t>(needed, style.fraction_digits));
  if (!decimals.empty()) StrAppend(out, ".", decimals);
}

std::string FormatIso(const Timestamp& t, const TimeStyle& style) {
  const CivilTime civil = CivilFromMicros(t.local());
  const bool at_midnight = civil.hour == 0 && civil.minute == 0 && civil.second == 0 && civil.micro == 0;
  std::string out;
  AppendNumber(&out, civil.year, 4);
  if (style.date_separator != 0) out += style.date_separator;
  AppendNumber(&out, civil.month, style.padded ? 2 : 1);
  if (!style.has_day && civil.day == 1 && at_midnight) return out;
  if (style.date_separator != 0) out += style.date_separator;
  AppendNumber(&out, civil.day, style.padded ? 2 : 1);
  if (!style.has_time && at_midnight) return out;
  out += style.time_separator;
  AppendClock(&out, civil, style);
  AppendOffset(&out, t.offset_minutes, style.offset);
  return out;
}

}  // namespace

StatusOr<TimeReader> TimeReader::ForPattern(std::string_view pattern) {
  PLINTH_RETURN_IF_ERROR(CheckPattern(pattern));
  TimeReader reader;
  reader.style_.kind = TimeStyle::Kind::kPattern;
  reader.style_.pattern = pattern;
  if (PatternHasOffset(pattern)) reader.style_.offset = TimeStyle::Offset::kPlain;
  reader.started_ = true;
  return reader;
}

StatusOr<Timestamp> TimeReader::Read(std::string_view text) {
  text = Trim(text);
  if (style_.kind == TimeStyle::Kind::kPattern) return ReadByPattern(text, style_.pattern);
  const bool number = IsNumber(text);
  if (started_ && number != (style_.kind == TimeStyle::Kind::kEpoch)) {
    return absl::InvalidArgumentError(
        StrCat("\"", text, "\" is ", number ? "a plain number" : "no number", ", but the rows before hold ",
               number ? "dates" : "counts since 1970", "; a time column needs one form"));
  }
  return number ? ReadEpoch(text) : ReadIso(text);
}

StatusOr<Timestamp> TimeReader::ReadIso(std::string_view text) {
  IsoParts parts;
  if (!ScanIso(text, parts)) return NotATime(text);
  PLINTH_ASSIGN_OR_RETURN(const Timestamp t, CheckedTimestamp(text, parts.civil, parts.offset_minutes));
  if (!started_) {
    style_ = parts.style;
    started_ = true;
    return t;
  }
  if (style_.has_offset() != parts.style.has_offset()) {
    return absl::InvalidArgumentError(StrCat("\"", text, "\" has ", parts.style.has_offset() ? "an" : "no",
                                             " offset from UTC, but the rows before have ",
                                             style_.has_offset() ? "one" : "none",
                                             "; a time column needs it in all rows or in none"));
  }
  Merge(style_, parts.style);
  return t;
}

StatusOr<Timestamp> TimeReader::ReadEpoch(std::string_view text) {
  EpochParts parts;
  if (!ScanEpoch(text, parts)) return NotATime(text);
  if (!started_) {
    const int64_t unit = parts.negative ? 0 : EpochUnit(parts.count);
    if (unit == 0) return NotATime(text);
    style_.kind = TimeStyle::Kind::kEpoch;
    style_.epoch_nanos = unit;
    started_ = true;
  }
  int64_t micros = parts.count / 1000;
  if (style_.epoch_nanos >= 1000) {
    const int64_t unit = style_.epoch_nanos / 1000;
    if (__builtin_mul_overflow(parts.count, unit, &micros)) return NotATime(text);
    micros += parts.millionths * unit / 1'000'000;
    const int kept = unit == kMicrosPerSecond ? 6 : unit == 1000 ? 3 : 0;
    style_.fraction_digits = std::max(style_.fraction_digits, std::min(parts.digits, kept));
  }
  if (parts.negative) micros = -micros;
  if (micros < kFirstMicros || micros > kLastMicros) {
    return absl::InvalidArgumentError(StrCat("\"", text, "\" lies outside the years 1 to 9999"));
  }
  return Timestamp{micros, 0};
}

bool LooksLikeTime(std::span<const std::string_view> cells, std::span<const std::string_view> items) {
  TimeReader reader;
  std::optional<int64_t> first;
  std::map<std::string_view, int64_t> last;  // by item
  for (size_t i = 0; i < cells.size(); ++i) {
    if (Trim(cells[i]).empty()) continue;
    const StatusOr<Timestamp> t = reader.Read(cells[i]);
    if (!t.ok()) return false;
    if (!first) first = t->micros;
    const auto [before, begins] = last.try_emplace(items.empty() ? std::string_view() : items[i], t->micros);
    const bool falls = !begins && t->micros < before->second && (!items.empty() || t->micros != *first);
    if (falls && reader.style().kind == TimeStyle::Kind::kEpoch) return false;
    before->second = t->micros;
  }
  return first.has_value();
}

std::string FormatTime(const Timestamp& t, const TimeStyle& style) {
  switch (style.kind) {
    case TimeStyle::Kind::kEpoch:
      return FormatEpoch(t, style);
    case TimeStyle::Kind::kPattern:
      return WriteByPattern(t, style.pattern);
    case TimeStyle::Kind::kIso:
      break;
  }
  return FormatIso(t, style);
}

}  // namespace plinth::series
