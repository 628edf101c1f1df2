#include "plinth/server/session_store.h"

#include <algorithm>
#include <limits>

#include "plinth/base/text.h"
#include "plinth/series/frequency.h"
#include "plinth/server/fields.h"

namespace plinth::server {

Status SessionStore::Check(const History& history, const std::vector<std::string>& targets,
                           const engine::SeriesItem& item) const {
  if (history.targets != targets) {
    return FieldError("series",
                      StrCat("has the targets ", Join(targets, ", "), ", the session ",
                             Join(history.targets, ", "), "; send the same, or name another session"));
  }
  if (history.item.numbered != item.numbered) {
    return FieldError("series",
                      StrCat("has ", item.numbered ? "no times, the session has" : "times, the session none",
                             "; send the same, or name another session"));
  }
  if (!item.numbered && item.length() > 1 && history.item.frequency != item.frequency) {
    return FieldError(
        "freq", StrCat("of ", item.FrequencyName(), " is not the session's ", history.item.FrequencyName()));
  }
  return absl::OkStatus();
}

// The index of the item's first row on the history's grid.
StatusOr<int64_t> SessionStore::PlaceOf(const engine::SeriesItem& history,
                                        const engine::SeriesItem& item) const {
  if (item.numbered) return history.length();
  const int64_t at = series::StepsUpTo(history.origin, history.frequency, item.origin);
  if (at < 0) {
    return FieldError("series", StrCat("begins at ", item.TimeText(0),
                                       ", before the session's oldest row at ", history.TimeText(0)));
  }
  if (series::Advance(history.origin, history.frequency, at).micros != item.origin.micros) {
    return FieldError("series",
                      StrCat("begins at ", item.TimeText(0), ", which is not on the session's grid of ",
                             history.FrequencyName(), "; the nearest time before is ", history.TimeText(at)));
  }
  if (at > history.length() + options_.rows) {
    return FieldError("series", StrCat("begins at ", item.TimeText(0), ", more than ", options_.rows,
                                       " rows after the session's last; name another session"));
  }
  return at;
}

void SessionStore::Trim(engine::SeriesItem* item) const {
  const int64_t over = item->length() - options_.rows;
  if (over <= 0) return;
  for (std::vector<double>& values : item->values) values.erase(values.begin(), values.begin() + over);
  if (!item->numbered) item->origin = series::Advance(item->origin, item->frequency, over);
}

void SessionStore::Forget(int64_t now) {
  while (!histories_.empty() && (static_cast<int64_t>(histories_.size()) > options_.most ||
                                 now - histories_.front().used > options_.idle_nanoseconds)) {
    by_id_.erase(histories_.front().id);
    histories_.pop_front();
  }
}

Status SessionStore::Extend(const std::string& id, const std::vector<std::string>& targets,
                            engine::SeriesItem* item) {
  if (options_.most == 0) return absl::ResourceExhaustedError("sessions are turned off (sessions.most is 0)");
  const int64_t now = clock_.Monotonic();
  const std::lock_guard lock(mutex_);
  Forget(now);
  const auto known = by_id_.find(id);
  if (known == by_id_.end()) {
    Trim(item);
    histories_.push_back({id, targets, *item, now});
    by_id_[id] = std::prev(histories_.end());
    Forget(now);
    return absl::OkStatus();
  }
  History& history = *known->second;
  PLINTH_RETURN_IF_ERROR(Check(history, targets, *item));
  PLINTH_ASSIGN_OR_RETURN(const int64_t at, PlaceOf(history.item, *item));
  const size_t end = static_cast<size_t>(at + item->length());
  for (size_t t = 0; t < targets.size(); ++t) {
    std::vector<double>& values = history.item.values[t];
    if (values.size() < end) values.resize(end, std::numeric_limits<double>::quiet_NaN());
    std::copy(item->values[t].begin(), item->values[t].end(), values.begin() + at);
  }
  // The newest offset from UTC is the one to go on with.
  history.item.origin.offset_minutes = item->origin.offset_minutes;
  Trim(&history.item);
  history.used = now;
  histories_.splice(histories_.end(), histories_, known->second);
  item->values = history.item.values;
  item->origin = history.item.origin;
  item->frequency = history.item.frequency;
  return absl::OkStatus();
}

bool SessionStore::Drop(const std::string& id) {
  const std::lock_guard lock(mutex_);
  const auto known = by_id_.find(id);
  if (known == by_id_.end()) return false;
  histories_.erase(known->second);
  by_id_.erase(known);
  return true;
}

int64_t SessionStore::size() const {
  const std::lock_guard lock(mutex_);
  return static_cast<int64_t>(histories_.size());
}

}  // namespace plinth::server
