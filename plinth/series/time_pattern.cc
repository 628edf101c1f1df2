#include "plinth/series/time_pattern.h"

#include <array>
#include <string>

#include "plinth/series/time_scanner.h"

namespace plinth::series {
namespace {

constexpr std::array<std::string_view, 12> kMonths = {"January",   "February", "March",    "April",
                                                      "May",       "June",     "July",     "August",
                                                      "September", "October",  "November", "December"};
constexpr std::array<std::string_view, 7> kWeekdays = {"Monday", "Tuesday",  "Wednesday", "Thursday",
                                                       "Friday", "Saturday", "Sunday"};
constexpr std::string_view kKnown = "YymdejHIpMSfzbBhaA%";
constexpr std::string_view kKnownText = "%Y %y %m %d %e %j %H %I %p %M %S %f %z %b %B %h %a %A %F %T %R %%";

// Replaces the directives that stand for several.
std::string Expand(std::string_view pattern) {
  std::string out;
  for (size_t i = 0; i < pattern.size(); ++i) {
    const char next = pattern[i] == '%' && i + 1 < pattern.size() ? pattern[i + 1] : 0;
    if (next == 'F' || next == 'T' || next == 'R') {
      out += next == 'F' ? "%Y-%m-%d" : next == 'T' ? "%H:%M:%S" : "%H:%M";
      ++i;
    } else {
      out += pattern[i];
      if (next != 0) out += pattern[++i];
    }
  }
  return out;
}

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// The index of the name (whole, or its first three letters) at the front, or -1.
template <size_t kCount>
int TakeName(TimeScanner& scan, const std::array<std::string_view, kCount>& names) {
  for (size_t i = 0; i < kCount; ++i) {
    for (size_t length : {names[i].size(), size_t{3}}) {
      if (scan.rest.size() < length) continue;
      size_t same = 0;
      while (same < length && Lower(scan.rest[same]) == Lower(names[i][same])) ++same;
      if (same < length) continue;
      scan.rest.remove_prefix(length);
      return static_cast<int>(i);
    }
  }
  return -1;
}

struct Fields {
  CivilTime civil;
  int32_t offset_minutes = 0;
  int day_of_year = 0;
  int half = -1;  // 0 a.m., 1 p.m.
};

// Takes what one directive stands for; false if it is not there.
bool TakeField(TimeScanner& scan, char directive, Fields& f) {
  TimeStyle::Offset form;
  int digits = 0;
  switch (directive) {
    case 'Y':
      return (f.civil.year = scan.Number(4, 4)) >= 0;
    case 'y':
      f.civil.year = scan.Number(2, 2);
      if (f.civil.year < 0) return false;
      f.civil.year += f.civil.year < 69 ? 2000 : 1900;
      return true;
    case 'm':
      return (f.civil.month = scan.Number(1, 2)) >= 0;
    case 'e':
      scan.Take(' ');
      [[fallthrough]];
    case 'd':
      return (f.civil.day = scan.Number(1, 2)) >= 0;
    case 'j':
      return (f.day_of_year = scan.Number(1, 3)) >= 0;
    case 'H':
    case 'I':
      return (f.civil.hour = scan.Number(1, 2)) >= 0;
    case 'M':
      return (f.civil.minute = scan.Number(1, 2)) >= 0;
    case 'S':
      return (f.civil.second = scan.Number(1, 2)) >= 0;
    case 'f':
      return (f.civil.micro = scan.Fraction(&digits)) >= 0;
    case 'z':
      return scan.OffsetFrom(&f.offset_minutes, &form);
    case 'p':
      f.half = scan.Take('A') || scan.Take('a') ? 0 : scan.Take('P') || scan.Take('p') ? 1 : -1;
      return f.half >= 0 && (scan.Take('M') || scan.Take('m'));
    case 'b':
    case 'B':
    case 'h':
      f.civil.month = TakeName(scan, kMonths) + 1;
      return f.civil.month > 0;
    case 'a':
    case 'A':
      return TakeName(scan, kWeekdays) >= 0;
    default:
      return scan.Take(directive);
  }
}

// Resolves the fields that only mean something together.
Status Combine(std::string_view text, Fields& f) {
  if (f.half >= 0) {
    if (f.civil.hour < 1 || f.civil.hour > 12) {
      return absl::InvalidArgumentError(
          StrCat("\"", text, "\" is not a time: hour ", f.civil.hour, " beside AM or PM; expected 1 to 12"));
    }
    f.civil.hour = f.civil.hour % 12 + 12 * f.half;
  }
  if (f.day_of_year > 0) {
    const int64_t first = DaysFromCivil(f.civil.year, 1, 1);
    const int64_t days = DaysFromCivil(f.civil.year + 1, 1, 1) - first;
    if (f.day_of_year > days) {
      return absl::InvalidArgumentError(
          StrCat("\"", text, "\" is not a time: day of the year ", f.day_of_year, "; expected 1 to ", days));
    }
    const CivilTime date = CivilFromMicros((first + f.day_of_year - 1) * kMicrosPerDay);
    f.civil.month = date.month;
    f.civil.day = date.day;
  }
  return absl::OkStatus();
}

void WriteField(std::string* out, char directive, const CivilTime& c, const Timestamp& t) {
  const int64_t day = FloorDiv(t.local(), kMicrosPerDay);
  switch (directive) {
    case 'Y':
      return AppendNumber(out, c.year, 4);
    case 'y':
      return AppendNumber(out, c.year % 100, 2);
    case 'm':
      return AppendNumber(out, c.month, 2);
    case 'd':
      return AppendNumber(out, c.day, 2);
    case 'e':
      if (c.day < 10) *out += ' ';
      return AppendNumber(out, c.day, 1);
    case 'j':
      return AppendNumber(out, day - DaysFromCivil(c.year, 1, 1) + 1, 3);
    case 'H':
      return AppendNumber(out, c.hour, 2);
    case 'I':
      return AppendNumber(out, (c.hour + 11) % 12 + 1, 2);
    case 'M':
      return AppendNumber(out, c.minute, 2);
    case 'S':
      return AppendNumber(out, c.second, 2);
    case 'f':
      return AppendNumber(out, c.micro, 6);
    case 'z':
      return AppendOffset(out, t.offset_minutes, TimeStyle::Offset::kPlain);
    case 'p':
      *out += c.hour < 12 ? "AM" : "PM";
      return;
    case 'b':
    case 'h':
      *out += kMonths[c.month - 1].substr(0, 3);
      return;
    case 'B':
      *out += kMonths[c.month - 1];
      return;
    case 'a':
      *out += kWeekdays[Weekday(day)].substr(0, 3);
      return;
    case 'A':
      *out += kWeekdays[Weekday(day)];
      return;
    default:
      *out += directive;
  }
}

}  // namespace

Status CheckPattern(std::string_view pattern) {
  const std::string full = Expand(pattern);
  bool year = false;
  for (size_t i = 0; i < full.size(); ++i) {
    if (full[i] != '%') continue;
    if (i + 1 == full.size() || kKnown.find(full[i + 1]) == std::string_view::npos) {
      return absl::InvalidArgumentError(StrCat("time format \"", pattern, "\": \"",
                                               std::string_view(full).substr(i, 2),
                                               "\" is unknown; there are ", kKnownText));
    }
    ++i;
    year = year || full[i] == 'Y' || full[i] == 'y';
  }
  if (!year) {
    return absl::InvalidArgumentError(
        StrCat("time format \"", pattern, "\" has no year; it needs %Y or %y, for example %d.%m.%Y %H:%M"));
  }
  return absl::OkStatus();
}

StatusOr<Timestamp> ReadByPattern(std::string_view text, std::string_view pattern) {
  const std::string full = Expand(pattern);
  TimeScanner scan{text};
  Fields fields;
  for (size_t i = 0; i < full.size(); ++i) {
    const bool directive = full[i] == '%' && i + 1 < full.size();
    if (directive) ++i;
    if (directive ? TakeField(scan, full[i], fields) : scan.Take(full[i])) continue;
    return absl::InvalidArgumentError(
        StrCat("\"", text, "\" does not fit the time format \"", pattern, "\": at character ",
               text.size() - scan.rest.size() + 1, " expected ", directive ? "%" : "",
               full[i] == ' ' ? "a space" : std::string_view(full).substr(i, 1)));
  }
  if (!scan.rest.empty()) {
    return absl::InvalidArgumentError(StrCat("\"", text, "\" does not fit the time format \"", pattern,
                                             "\": \"", scan.rest, "\" is left over"));
  }
  PLINTH_RETURN_IF_ERROR(Combine(text, fields));
  return CheckedTimestamp(text, fields.civil, fields.offset_minutes);
}

std::string WriteByPattern(const Timestamp& t, std::string_view pattern) {
  const std::string full = Expand(pattern);
  const CivilTime civil = CivilFromMicros(t.local());
  std::string out;
  for (size_t i = 0; i < full.size(); ++i) {
    if (full[i] == '%' && i + 1 < full.size()) {
      WriteField(&out, full[++i], civil, t);
    } else {
      out += full[i];
    }
  }
  return out;
}

bool PatternHasOffset(std::string_view pattern) {
  const std::string full = Expand(pattern);
  for (size_t i = 0; i + 1 < full.size(); ++i) {
    if (full[i] != '%') continue;
    if (full[++i] == 'z') return true;
  }
  return false;
}

}  // namespace plinth::series
