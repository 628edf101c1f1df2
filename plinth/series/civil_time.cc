#include "plinth/series/civil_time.h"

namespace plinth::series {

int64_t MicrosFromCivil(const CivilTime& civil) {
  return DaysFromCivil(civil.year, civil.month, civil.day) * kMicrosPerDay + civil.hour * kMicrosPerHour +
         civil.minute * kMicrosPerMinute + civil.second * kMicrosPerSecond + civil.micro;
}

// Method: Hinnant's civil_from_days.
CivilTime CivilFromMicros(int64_t micros) {
  const int64_t days = FloorDiv(micros, kMicrosPerDay);
  int64_t rest = micros - days * kMicrosPerDay;
  const int64_t shifted = days + 719468;
  const int64_t era = FloorDiv(shifted, 146097);
  const int64_t day_of_era = shifted - era * 146097;
  const int64_t year_of_era =
      (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
  const int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const int64_t month_from_march = (5 * day_of_year + 2) / 153;
  CivilTime civil;
  civil.day = static_cast<int>(day_of_year - (153 * month_from_march + 2) / 5 + 1);
  civil.month = static_cast<int>(month_from_march + (month_from_march < 10 ? 3 : -9));
  civil.year = static_cast<int>(year_of_era + era * 400 + (civil.month <= 2 ? 1 : 0));
  civil.hour = static_cast<int>(rest / kMicrosPerHour);
  rest %= kMicrosPerHour;
  civil.minute = static_cast<int>(rest / kMicrosPerMinute);
  rest %= kMicrosPerMinute;
  civil.second = static_cast<int>(rest / kMicrosPerSecond);
  civil.micro = static_cast<int>(rest % kMicrosPerSecond);
  return civil;
}

}  // namespace plinth::series
