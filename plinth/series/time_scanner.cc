#include "plinth/series/time_scanner.h"

namespace plinth::series {
namespace {

Status OutOfRange(std::string_view text, std::string_view field, int value, int low, int high) {
  return absl::InvalidArgumentError(
      StrCat("\"", text, "\" is not a time: ", field, " ", value, "; expected ", low, " to ", high));
}

}  // namespace

bool TimeScanner::OffsetFrom(int32_t* minutes, TimeStyle::Offset* form) {
  if (Take('Z') || Take('z')) {
    *minutes = 0;
    *form = TimeStyle::Offset::kZulu;
    return true;
  }
  TimeScanner scan = *this;
  const int sign = scan.Take('+') ? 1 : scan.Take('-') ? -1 : 0;
  if (sign == 0) return false;
  const int hours = scan.Number(2, 2);
  if (hours < 0 || hours > 23) return false;
  *form = scan.Take(':')      ? TimeStyle::Offset::kColon
          : scan.Digits() > 0 ? TimeStyle::Offset::kPlain
                              : TimeStyle::Offset::kHours;
  int past = 0;
  if (*form != TimeStyle::Offset::kHours) past = scan.Number(2, 2);
  if (past < 0 || past > 59) return false;
  *minutes = sign * (hours * 60 + past);
  *this = scan;
  return true;
}

StatusOr<Timestamp> CheckedTimestamp(std::string_view text, const CivilTime& civil, int32_t offset_minutes) {
  if (civil.year < kFirstYear || civil.year > kLastYear) {
    return OutOfRange(text, "year", civil.year, kFirstYear, kLastYear);
  }
  if (civil.month < 1 || civil.month > 12) return OutOfRange(text, "month", civil.month, 1, 12);
  const int days = DaysInMonth(civil.year, civil.month);
  if (civil.day < 1 || civil.day > days) return OutOfRange(text, "day", civil.day, 1, days);
  const bool last_midnight = civil.hour == 24 && civil.minute == 0 && civil.second == 0 && civil.micro == 0;
  if (civil.hour > 23 && !last_midnight) return OutOfRange(text, "hour", civil.hour, 0, 23);
  if (civil.minute > 59) return OutOfRange(text, "minute", civil.minute, 0, 59);
  if (civil.second > 59) return OutOfRange(text, "second", civil.second, 0, 59);
  return Timestamp{MicrosFromCivil(civil) - offset_minutes * kMicrosPerMinute, offset_minutes};
}

void AppendNumber(std::string* out, int64_t value, int width) {
  std::string digits = std::to_string(value);
  if (static_cast<int>(digits.size()) < width) out->append(width - digits.size(), '0');
  *out += digits;
}

void AppendOffset(std::string* out, int32_t minutes, TimeStyle::Offset form) {
  if (form == TimeStyle::Offset::kNone) return;
  if (form == TimeStyle::Offset::kZulu && minutes == 0) {
    *out += 'Z';
    return;
  }
  const int32_t size = minutes < 0 ? -minutes : minutes;
  *out += minutes < 0 ? '-' : '+';
  AppendNumber(out, size / 60, 2);
  if (form == TimeStyle::Offset::kHours && size % 60 == 0) return;
  if (form != TimeStyle::Offset::kPlain) *out += ':';
  AppendNumber(out, size % 60, 2);
}

}  // namespace plinth::series
