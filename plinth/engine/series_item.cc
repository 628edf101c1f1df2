#include "plinth/engine/series_item.h"

#include <limits>

#include "plinth/series/civil_time.h"
#include "plinth/series/timestamp.h"

namespace plinth::engine {

std::string SeriesItem::TimeText(int64_t k) const {
  if (numbered) return StrCat(k + 1);
  return series::FormatTime(series::Advance(origin, frequency, k), style);
}

int64_t SeriesItem::TimeMs(int64_t k) const {
  if (numbered) return k + 1;
  const int64_t micros = series::Advance(origin, frequency, k).micros;
  return micros >= 0 ? micros / 1000 : -((-micros + 999) / 1000);
}

int64_t SeriesItem::LastIndex() const {
  if (numbered) return std::numeric_limits<int64_t>::max();
  series::Timestamp end = origin;
  end.micros += series::kLastMicros - origin.local();
  return series::StepsUpTo(origin, frequency, end);
}

std::string SeriesItem::FrequencyName() const { return numbered ? "1" : series::FrequencyText(frequency); }

int64_t SeriesItem::DefaultSeason() const { return numbered ? 1 : series::DefaultSeason(frequency); }

}  // namespace plinth::engine
