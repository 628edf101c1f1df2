#include "plinth/series/frequency.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace plinth::series {
namespace {

using Kind = Frequency::Kind;

struct Unit {
  std::string_view name;
  Frequency step;
};

constexpr int64_t kMilli = 1000;

// Names are matched exactly first; then without regard to case, where that is not ambiguous.
constexpr std::array kUnits = {
    Unit{"us", {Kind::kMicros, 1}},
    Unit{"U", {Kind::kMicros, 1}},
    Unit{"ms", {Kind::kMicros, kMilli}},
    Unit{"L", {Kind::kMicros, kMilli}},
    Unit{"s", {Kind::kMicros, kMicrosPerSecond}},
    Unit{"sec", {Kind::kMicros, kMicrosPerSecond}},
    Unit{"second", {Kind::kMicros, kMicrosPerSecond}},
    Unit{"min", {Kind::kMicros, kMicrosPerMinute}},
    Unit{"T", {Kind::kMicros, kMicrosPerMinute}},
    Unit{"minute", {Kind::kMicros, kMicrosPerMinute}},
    Unit{"h", {Kind::kMicros, kMicrosPerHour}},
    Unit{"hour", {Kind::kMicros, kMicrosPerHour}},
    Unit{"D", {Kind::kDays, 1}},
    Unit{"day", {Kind::kDays, 1}},
    Unit{"B", {Kind::kBusinessDays, 1}},
    Unit{"W", {Kind::kDays, 7}},
    Unit{"week", {Kind::kDays, 7}},
    Unit{"M", {Kind::kMonths, 1, 0}},
    Unit{"month", {Kind::kMonths, 1, 0}},
    Unit{"MS", {Kind::kMonths, 1, 1}},
    Unit{"ME", {Kind::kMonths, 1, 31}},
    Unit{"Q", {Kind::kMonths, 3, 0}},
    Unit{"quarter", {Kind::kMonths, 3, 0}},
    Unit{"QS", {Kind::kMonths, 3, 1}},
    Unit{"QE", {Kind::kMonths, 3, 31}},
    Unit{"Y", {Kind::kMonths, 12, 0}},
    Unit{"A", {Kind::kMonths, 12, 0}},
    Unit{"year", {Kind::kMonths, 12, 0}},
    Unit{"YS", {Kind::kMonths, 12, 1}},
    Unit{"AS", {Kind::kMonths, 12, 1}},
    Unit{"YE", {Kind::kMonths, 12, 31}},
    Unit{"AE", {Kind::kMonths, 12, 31}},
};

char Upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }

bool EqualButForCase(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return Upper(x) == Upper(y); });
}

const Unit* FindUnit(std::string_view name) {
  for (const Unit& unit : kUnits) {
    if (unit.name == name) return &unit;
  }
  if (EqualButForCase(name, "m") || EqualButForCase(name, "ms")) return nullptr;
  for (const Unit& unit : kUnits) {
    if (EqualButForCase(unit.name, name)) return &unit;
    const bool word = unit.name.size() > 2;
    if (word && EqualButForCase(StrCat(unit.name, "s"), name)) return &unit;
  }
  return nullptr;
}

// Cuts "-SUN" or "-DEC" off a unit that can carry an anchor.
std::string_view WithoutAnchor(std::string_view name) {
  const size_t dash = name.find('-');
  if (dash == std::string_view::npos || name.size() - dash != 4 || dash == 0) return name;
  constexpr std::array<std::string_view, 19> kAnchors = {"MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN",
                                                         "JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL",
                                                         "AUG", "SEP", "OCT", "NOV", "DEC"};
  const auto anchor = std::find_if(kAnchors.begin(), kAnchors.end(), [&](std::string_view a) {
    return EqualButForCase(a, name.substr(dash + 1));
  });
  if (anchor == kAnchors.end()) return name;
  const bool weekday = anchor - kAnchors.begin() < 7;
  const char unit = Upper(name[0]);
  const bool fits = weekday ? unit == 'W' && dash == 1 : unit == 'Q' || unit == 'Y' || unit == 'A';
  return fits ? name.substr(0, dash) : name;
}

Status BadFrequency(std::string_view text, std::string_view why) {
  return absl::InvalidArgumentError(StrCat("frequency \"", text, "\" ", why));
}

// Steps of more than 1000 years are refused; this is how many of a kind's steps that is.
int64_t Longest(Kind kind) {
  constexpr int64_t kDays = 365'250;
  switch (kind) {
    case Kind::kMicros:
      return kDays * kMicrosPerDay;
    case Kind::kDays:
      return kDays;
    case Kind::kBusinessDays:
      return kDays / 7 * 5;
    case Kind::kMonths:
      break;
  }
  return 12'000;
}

// Monday to Friday numbered without the days between; Saturday and Sunday count as the Friday before.
int64_t BusinessDay(int64_t day) {
  const int64_t since_monday = day + 3;  // 1969-12-29 was a Monday
  const int64_t week = FloorDiv(since_monday, 7);
  return 5 * week + std::min<int64_t>(since_monday - 7 * week, 4);
}

int64_t DayOfBusinessDay(int64_t business_day) {
  const int64_t week = FloorDiv(business_day, 5);
  return 7 * week + (business_day - 5 * week) - 3;
}

int64_t AddMonths(int64_t local, int64_t months, int month_day) {
  const CivilTime civil = CivilFromMicros(local);
  const int64_t index = civil.year * int64_t{12} + civil.month - 1 + months;
  const int64_t year = FloorDiv(index, 12);
  const int month = static_cast<int>(index - 12 * year) + 1;
  const int day = std::min(month_day > 0 ? month_day : civil.day, DaysInMonth(year, month));
  const int64_t days = FloorDiv(local, kMicrosPerDay);
  return DaysFromCivil(year, month, day) * kMicrosPerDay + (local - days * kMicrosPerDay);
}

int64_t MonthIndex(int64_t local) {
  const CivilTime civil = CivilFromMicros(local);
  return civil.year * int64_t{12} + civil.month - 1;
}

// n * count, kept where calendar arithmetic cannot overflow: beyond 9999 years of the smallest step.
int64_t Steps(int64_t n, int64_t count, int64_t limit) {
  int64_t product = 0;
  if (__builtin_mul_overflow(n, count, &product)) product = n < 0 ? -limit : limit;
  return std::clamp(product, -limit, limit);
}

int64_t AdvanceLocal(int64_t local, const Frequency& f, int64_t n) {
  const int64_t day = FloorDiv(local, kMicrosPerDay);
  const int64_t clock = local - day * kMicrosPerDay;
  switch (f.kind) {
    case Kind::kMicros:
      return local + Steps(n, f.count, kLastMicros - kFirstMicros);
    case Kind::kDays:
      return (day + Steps(n, f.count, 4'000'000)) * kMicrosPerDay + clock;
    case Kind::kBusinessDays:
      return DayOfBusinessDay(BusinessDay(day) + Steps(n, f.count, 3'000'000)) * kMicrosPerDay + clock;
    case Kind::kMonths:
      break;
  }
  return AddMonths(local, Steps(n, f.count, 120'000), f.month_day);
}

}  // namespace

StatusOr<Frequency> ParseFrequency(std::string_view text) {
  size_t digits = 0;
  while (digits < text.size() && text[digits] >= '0' && text[digits] <= '9') ++digits;
  size_t begin = digits;
  while (begin < text.size() && text[begin] == ' ') ++begin;
  const std::string_view name = WithoutAnchor(text.substr(begin));
  if (name == "m" || name == "mS" || name == "Ms") {
    return BadFrequency(text, "may mean minutes, months or milliseconds; write min, MS (month starts) or ms");
  }
  if (name == "ns" || name == "N") {
    return BadFrequency(text, "is finer than times are kept; the finest unit is us (microseconds)");
  }
  const Unit* unit = FindUnit(name);
  if (unit == nullptr) {
    return BadFrequency(text,
                        "is unknown; it can be a whole number and one of us, ms, s, min, h, D, B, W, M, "
                        "MS, ME, Q, QS, QE, Y, YS, YE, for example 30min");
  }
  int64_t count = 1;
  if (digits > 0) {
    const auto parsed = std::from_chars(text.data(), text.data() + digits, count);
    if (parsed.ec != std::errc() || count > Longest(unit->step.kind) / unit->step.count) {
      return BadFrequency(text, "spans more than 1000 years");
    }
    if (count == 0) return BadFrequency(text, "does not move; the number must be at least 1");
  }
  Frequency f = unit->step;
  f.count *= count;
  return f;
}

std::string FrequencyText(const Frequency& f) {
  const auto text = [](int64_t count, std::string_view unit) {
    return count == 1 ? std::string(unit) : StrCat(count, unit);
  };
  if (f.kind == Kind::kBusinessDays) return text(f.count, "B");
  if (f.kind == Kind::kDays) return f.count % 7 == 0 ? text(f.count / 7, "W") : text(f.count, "D");
  if (f.kind == Kind::kMonths) {
    const std::string_view day = f.month_day == 1 ? "S" : f.month_day == 31 ? "E" : "";
    if (f.count % 12 == 0) return text(f.count / 12, StrCat("Y", day));
    if (f.count % 3 == 0) return text(f.count / 3, StrCat("Q", day));
    return text(f.count, StrCat("M", day));
  }
  for (auto [size, unit] : {std::pair<int64_t, std::string_view>{kMicrosPerHour, "h"},
                            {kMicrosPerMinute, "min"},
                            {kMicrosPerSecond, "s"},
                            {kMilli, "ms"}}) {
    if (f.count % size == 0) return text(f.count / size, unit);
  }
  return text(f.count, "us");
}

Timestamp Advance(const Timestamp& t, const Frequency& frequency, int64_t n) {
  const int64_t local = AdvanceLocal(t.local(), frequency, n);
  return {std::clamp(local, kFirstMicros, kLastMicros) - t.offset_minutes * kMicrosPerMinute,
          t.offset_minutes};
}

int64_t StepsUpTo(const Timestamp& origin, const Frequency& f, const Timestamp& t) {
  if (f.kind == Kind::kMicros) return FloorDiv(t.micros - origin.micros, f.count);
  int64_t steps = 0;
  if (f.kind == Kind::kMonths) {
    steps = FloorDiv(MonthIndex(t.local()) - MonthIndex(origin.local()), f.count);
  } else {
    const int64_t from = FloorDiv(origin.local(), kMicrosPerDay), to = FloorDiv(t.local(), kMicrosPerDay);
    const int64_t days = f.kind == Kind::kDays ? to - from : BusinessDay(to) - BusinessDay(from);
    steps = FloorDiv(days, f.count);
  }
  // The step lies in the right day or month, but perhaps later in it.
  return AdvanceLocal(origin.local(), f, steps) > t.local() ? steps - 1 : steps;
}

int64_t DefaultSeason(const Frequency& frequency) {
  Frequency f = frequency;
  if (f.kind == Kind::kMicros && f.count % kMicrosPerDay == 0) f = {Kind::kDays, f.count / kMicrosPerDay};
  const auto whole = [&f](int64_t cycle) { return cycle % f.count == 0 ? cycle / f.count : 1; };
  switch (f.kind) {
    case Kind::kMicros:
      if (f.count < kMicrosPerSecond) return whole(kMicrosPerSecond);
      if (f.count < kMicrosPerMinute) return whole(kMicrosPerMinute);
      return whole(kMicrosPerDay);
    case Kind::kDays:
      return f.count % 7 == 0 ? (52 % (f.count / 7) == 0 ? 52 / (f.count / 7) : 1) : whole(7);
    case Kind::kBusinessDays:
      return whole(5);
    case Kind::kMonths:
      break;
  }
  return whole(12);
}

}  // namespace plinth::series
