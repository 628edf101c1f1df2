#include "plinth/series/time_axis.h"

#include <algorithm>
#include <limits>

#include "plinth/base/check.h"

namespace plinth::series {
namespace {

using Kind = Frequency::Kind;

std::string RowText(const TimeColumn& column, size_t i) {
  return StrCat(column.lines.empty() ? static_cast<int64_t>(i) + 1 : column.lines[i]);
}

std::string TimeText(const TimeColumn& column, size_t i) {
  return FormatTime(column.times[i], *column.style);
}

std::string_view RowWord(const TimeColumn& column) { return column.lines.empty() ? "row" : "line"; }

// "rows 7 and 8", "lines 7 and 8".
std::string RowNumbers(const TimeColumn& column, size_t i) {
  return StrCat(RowWord(column), "s ", RowText(column, i - 1), " and ", RowText(column, i));
}

// "rows 7 and 8 (A and B)".
std::string RowPair(const TimeColumn& column, size_t i) {
  return StrCat(RowNumbers(column, i), " (", TimeText(column, i - 1), " and ", TimeText(column, i), ")");
}

// Clocks change on Sundays before four o'clock in spring and autumn nearly everywhere.
bool MayBeClockChange(const Timestamp& t) {
  const CivilTime civil = CivilFromMicros(t.local());
  const bool season = (civil.month >= 3 && civil.month <= 4) || (civil.month >= 9 && civil.month <= 11);
  return season && civil.hour <= 3 && Weekday(FloorDiv(t.local(), kMicrosPerDay)) == 6;
}

constexpr std::string_view kClockChange =
    "; this looks like the night of a clock change in local time: give the stamps in UTC or with their "
    "offset, "
    "such as +01:00";

// How often each step occurs: the most common one, the smaller of equals.
struct StepCount {
  int64_t step = 0;
  int64_t times = 0;
};

StepCount MostCommon(std::vector<int64_t> steps) {
  std::sort(steps.begin(), steps.end());
  StepCount best;
  for (size_t i = 0; i < steps.size();) {
    const size_t end = std::upper_bound(steps.begin() + i, steps.end(), steps[i]) - steps.begin();
    if (static_cast<int64_t>(end - i) > best.times) best = {steps[i], static_cast<int64_t>(end - i)};
    i = end;
  }
  return best;
}

// The step of a grid on which all rows lie, or 0: the most common step or else the smallest, if all are its
// multiples and at least a third are the step itself.
int64_t BaseStep(const std::vector<int64_t>& steps) {
  const StepCount common = MostCommon(steps);
  for (int64_t base : {common.step, *std::min_element(steps.begin(), steps.end())}) {
    if (base <= 0) return 0;
    const auto multiple = [base](int64_t step) { return step % base == 0; };
    const int64_t own = std::count(steps.begin(), steps.end(), base);
    if (own * 3 >= static_cast<int64_t>(steps.size()) && std::all_of(steps.begin(), steps.end(), multiple)) {
      return base;
    }
  }
  return 0;
}

template <typename Value>
std::vector<int64_t> StepsOf(const TimeColumn& column, Value value) {
  std::vector<int64_t> steps;
  steps.reserve(column.times.size());
  for (size_t i = 1; i < column.times.size(); ++i) {
    steps.push_back(value(column.times[i]) - value(column.times[i - 1]));
  }
  return steps;
}

int64_t LocalDay(const Timestamp& t) { return FloorDiv(t.local(), kMicrosPerDay); }

bool SameClockEveryRow(const TimeColumn& column) {
  const auto clock = [](const Timestamp& t) { return t.local() - LocalDay(t) * kMicrosPerDay; };
  return std::all_of(column.times.begin(), column.times.end(),
                     [&](const Timestamp& t) { return clock(t) == clock(column.times[0]); });
}

// The day of the month that all stamps share, counting shorter months' last days as fitting; 31 where all
// are last days; 0 if there is none.
int SharedMonthDay(const TimeColumn& column) {
  int latest = 0;
  bool ends = true;
  for (const Timestamp& t : column.times) {
    const CivilTime civil = CivilFromMicros(t.local());
    latest = std::max(latest, civil.day);
    ends = ends && civil.day == DaysInMonth(civil.year, civil.month);
  }
  if (ends) return 31;
  for (const Timestamp& t : column.times) {
    const CivilTime civil = CivilFromMicros(t.local());
    if (civil.day != std::min(latest, DaysInMonth(civil.year, civil.month))) return 0;
  }
  return latest;
}

// Months, business days or days in local time; count 0 where none of them fits.
Frequency CalendarRule(const TimeColumn& column) {
  if (!SameClockEveryRow(column)) return {};
  const std::vector<int64_t> days = StepsOf(column, LocalDay);
  if (*std::min_element(days.begin(), days.end()) < 1) return {};
  const int month_day = SharedMonthDay(column);
  if (month_day > 0 && *std::min_element(days.begin(), days.end()) >= 28) {
    const int64_t months = BaseStep(StepsOf(column, [](const Timestamp& t) {
      const CivilTime civil = CivilFromMicros(t.local());
      return civil.year * int64_t{12} + civil.month;
    }));
    if (months > 0) return {Kind::kMonths, months, month_day};
  }
  const bool working = std::all_of(column.times.begin(), column.times.end(),
                                   [](const Timestamp& t) { return Weekday(LocalDay(t)) < 5; });
  const int64_t span = LocalDay(column.times.back()) - LocalDay(column.times.front());
  const bool weekend = Weekday(LocalDay(column.times.front())) + span > 4;
  if (working && weekend && MostCommon(days).step == 1) return {Kind::kBusinessDays, 1};
  return {Kind::kDays, BaseStep(days)};
}

std::string StepText(int64_t micros) {
  if (micros % kMicrosPerDay == 0) return FrequencyText({Kind::kDays, micros / kMicrosPerDay});
  return FrequencyText({Kind::kMicros, micros});
}

Status NoRule(const TimeColumn& column, const std::vector<int64_t>& steps) {
  const StepCount common = MostCommon(steps);
  if (common.times * 3 < static_cast<int64_t>(steps.size())) {
    return absl::InvalidArgumentError(StrCat(
        "the steps between rows follow no rule: the most common, ", StepText(common.step), ", makes up ",
        common.times, " of ", steps.size(),
        "; give the frequency (--freq 1h) if rows are only missing, else resample to a regular step first"));
  }
  size_t i = 0;
  while (i + 1 < steps.size() && steps[i] % common.step == 0) ++i;
  const int64_t misfit = steps[i] % common.step;
  const bool hour = misfit == kMicrosPerHour || common.step - misfit == kMicrosPerHour;
  const bool clock_change = hour && column.style->is_local();
  return absl::InvalidArgumentError(
      StrCat(RowPair(column, i + 1), " are ", StepText(steps[i]),
             " apart, which is no multiple of the usual step of ", StepText(common.step),
             clock_change ? kClockChange : "; resample to a regular step first"));
}

// A month_day that the data decide, for M, Q and Y.
Frequency Resolved(const TimeColumn& column, Frequency frequency) {
  if (frequency.kind != Kind::kMonths || frequency.month_day != 0) return frequency;
  const int shared = SharedMonthDay(column);
  frequency.month_day = shared > 0 ? shared : CivilFromMicros(column.times[0].local()).day;
  return frequency;
}

// The shortest distance of two neighbours on the grid, in local time.
int64_t ShortestStep(const Frequency& f) {
  if (f.kind == Kind::kMicros) return f.count;
  return f.count * (f.kind == Kind::kMonths ? 28 : 1) * kMicrosPerDay;
}

// The step that most rows have, where it is shorter than the grid's; else empty.
std::string FinerStep(const TimeColumn& column, const Frequency& grid) {
  const std::vector<int64_t> steps = StepsOf(column, [](const Timestamp& t) { return t.local(); });
  const StepCount common = MostCommon(steps);
  if (common.times * 2 <= static_cast<int64_t>(steps.size()) || common.step <= 0) return "";
  if (common.step >= ShortestStep(grid)) return "";
  const auto inferred = InferFrequency(column);
  return inferred.ok() ? FrequencyText(inferred->frequency) : StepText(common.step);
}

Status OffGrid(const TimeColumn& column, const Grid& grid, size_t i) {
  const Timestamp& t = column.times[i];
  const int64_t below = StepsUpTo(grid.origin, grid.frequency, t);
  const Timestamp low = Advance(grid.origin, grid.frequency, below);
  const Timestamp high = Advance(grid.origin, grid.frequency, below + 1);
  const std::string finer = FinerStep(column, grid.frequency), given = FrequencyText(grid.frequency);
  if (!finer.empty()) {
    return absl::InvalidArgumentError(StrCat(
        "the given frequency ", given, " is coarser than the data, whose step seems to be ", finer, ": ",
        RowWord(column), " ", RowText(column, i), " (", TimeText(column, i), ") lies between the grid times ",
        FormatTime(low, *column.style), " and ", FormatTime(high, *column.style), "; give --freq ", finer,
        " or leave it out, or resample the rows to ", given, " first"));
  }
  const int64_t down = t.local() - low.local(), up = high.local() - t.local();
  const bool hour = down == kMicrosPerHour || up == kMicrosPerHour;
  return absl::InvalidArgumentError(
      StrCat(RowWord(column), " ", RowText(column, i), " (", TimeText(column, i), ") is off the grid of ",
             given, " that starts at ", FormatTime(grid.origin, *column.style), "; the nearest grid time is ",
             FormatTime(up < down ? high : low, *column.style),
             hour && column.style->is_local() && i > 0 ? kClockChange : ""));
}

// Falling or equal stamps at row i.
Status NotRising(const TimeColumn& column, size_t i) {
  const int64_t step = MostCommon(StepsOf(column, [](const Timestamp& t) { return t.micros; })).step;
  const int64_t change = column.times[i].micros - column.times[i - 1].micros;
  const bool repeats = change == 0 || change == step - kMicrosPerHour;
  const bool clock_change =
      column.style->is_local() && repeats && step <= kMicrosPerHour && MayBeClockChange(column.times[i]);
  const std::string_view word = RowWord(column);
  const std::string_view advice =
      change == 0 ? "; keep one of them, or name the column that tells several series apart (--item)"
                  : "; sort the rows by time, or name the column that tells several series apart (--item)";
  return absl::InvalidArgumentError(
      StrCat(change == 0 ? StrCat(RowNumbers(column, i), " have the same time ", TimeText(column, i))
                         : StrCat(word, " ", RowText(column, i), " (", TimeText(column, i), ") lies before ",
                                  word, " ", RowText(column, i - 1), " (", TimeText(column, i - 1), ")"),
             clock_change ? kClockChange : advice));
}

// Says that a whole hour is missing in a night in which clocks may go forward.
std::string SpringNote(const TimeColumn& column, const Frequency& frequency) {
  if (!column.style->is_local() || frequency.kind != Kind::kMicros || frequency.count > kMicrosPerHour)
    return "";
  for (size_t i = 1; i < column.times.size(); ++i) {
    const int64_t extra = column.times[i].micros - column.times[i - 1].micros - frequency.count;
    if (extra == kMicrosPerHour && MayBeClockChange(column.times[i])) {
      return StrCat("the hour missing between ", RowPair(column, i), " is taken as a gap", kClockChange);
    }
  }
  return "";
}

}  // namespace

Status CheckRising(const TimeColumn& column) {
  PLINTH_CHECK(column.style != nullptr);
  for (size_t i = 1; i < column.times.size(); ++i) {
    if (column.times[i].micros <= column.times[i - 1].micros) return NotRising(column, i);
  }
  return absl::OkStatus();
}

StatusOr<Inference> InferFrequency(const TimeColumn& column) {
  if (column.times.size() < 2) {
    return absl::InvalidArgumentError(StrCat("the frequency needs at least two rows to be seen, and there ",
                                             column.times.empty() ? "are none" : "is one",
                                             "; give it, for example --freq 1h"));
  }
  PLINTH_RETURN_IF_ERROR(CheckRising(column));
  Inference found;
  found.frequency = CalendarRule(column);
  if (found.frequency.count == 0) {
    const std::vector<int64_t> steps = StepsOf(column, [](const Timestamp& t) { return t.micros; });
    found.frequency = {Kind::kMicros, BaseStep(steps)};
    if (found.frequency.count == 0) return NoRule(column, steps);
  }
  const int64_t length = StepsUpTo(column.times.front(), found.frequency, column.times.back()) + 1;
  found.missing = length - static_cast<int64_t>(column.times.size());
  found.note = SpringNote(column, found.frequency);
  return found;
}

StatusOr<Grid> PlaceOnGrid(const TimeColumn& column, const Frequency& frequency) {
  PLINTH_CHECK_LT(0, frequency.count);
  if (column.times.empty()) return absl::InvalidArgumentError("the series has no rows");
  PLINTH_RETURN_IF_ERROR(CheckRising(column));
  Grid grid;
  grid.frequency = Resolved(column, frequency);
  const Timestamp &first = column.times.front(), &last = column.times.back();
  const bool absolute = frequency.kind == Kind::kMicros;
  grid.origin.offset_minutes = last.offset_minutes;
  grid.origin.micros = absolute ? first.micros : first.local() - last.offset_minutes * kMicrosPerMinute;
  grid.positions.reserve(column.times.size());
  for (size_t i = 0; i < column.times.size(); ++i) {
    const Timestamp& t = column.times[i];
    const int64_t position = StepsUpTo(grid.origin, grid.frequency, t);
    const Timestamp on = Advance(grid.origin, grid.frequency, position);
    if (absolute ? on.micros != t.micros : on.local() != t.local()) return OffGrid(column, grid, i);
    grid.positions.push_back(position);
  }
  grid.length = grid.positions.back() + 1;
  const int64_t rows = static_cast<int64_t>(column.times.size());
  if (grid.length > 1000 * rows + 1'000'000) {
    return absl::InvalidArgumentError(
        StrCat("a grid of ", FrequencyText(grid.frequency), " from ", TimeText(column, 0), " to ",
               TimeText(column, column.times.size() - 1), " has ", grid.length, " times for ", rows,
               " rows; give the frequency that the rows have (--freq)"));
  }
  return grid;
}

std::vector<double> OnGrid(const Grid& grid, std::span<const double> values) {
  PLINTH_CHECK_EQ(values.size(), grid.positions.size());
  std::vector<double> out(static_cast<size_t>(grid.length), std::numeric_limits<double>::quiet_NaN());
  for (size_t i = 0; i < values.size(); ++i) out[grid.positions[i]] = values[i];
  return out;
}

}  // namespace plinth::series
