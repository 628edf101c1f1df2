#include "plinth/server/alarms.h"

#include <algorithm>
#include <cstdio>
#include <limits>

#include "plinth/base/files.h"
#include "plinth/base/text.h"
#include "plinth/base/utf8.h"
#include "plinth/evidence/unit.h"
#include "plinth/formats/json.h"

namespace plinth::server {
namespace {

using formats::JsonValue;

constexpr int64_t kMostBytes = 64 << 20;
constexpr std::string_view kFormat = "plinth-alarms-1";

// The first bytes of it that are whole characters.
std::string Cut(std::string_view text, size_t most = kAlarmText) {
  text = text.substr(0, most);
  return std::string(text.substr(0, Utf8Prefix(text)));
}

StatusOr<int64_t> Whole(const JsonValue& of, std::string_view key, const std::string& where) {
  const JsonValue* value = of.Find(key);
  if (value == nullptr || value->integer() == nullptr || *value->integer() < 0)
    return absl::InvalidArgumentError(StrCat(where, ": \"", key, "\" is no whole number from 0"));
  return *value->integer();
}

StatusOr<std::string> Words(const JsonValue& of, std::string_view key, const std::string& where) {
  const JsonValue* value = of.Find(key);
  if (value == nullptr || value->text() == nullptr)
    return absl::InvalidArgumentError(StrCat(where, ": \"", key, "\" is no text"));
  return Cut(*value->text());
}

StatusOr<Alarm> ReadAlarm(const JsonValue& of, const std::string& where) {
  Alarm alarm;
  for (const auto& [key, member] : {std::pair("id", &Alarm::id),
                                    {"raised_ns", &Alarm::raised},
                                    {"last_ns", &Alarm::last},
                                    {"count", &Alarm::count},
                                    {"ended_ns", &Alarm::ended},
                                    {"acknowledged_ns", &Alarm::acknowledged}}) {
    PLINTH_ASSIGN_OR_RETURN(alarm.*member, Whole(of, key, where));
  }
  for (const auto& [key, member] : {std::pair("source", &AlarmCause::source),
                                    {"kind", &AlarmCause::kind},
                                    {"model", &AlarmCause::model},
                                    {"item", &AlarmCause::item},
                                    {"target", &AlarmCause::target},
                                    {"message", &AlarmCause::message}}) {
    PLINTH_ASSIGN_OR_RETURN(alarm.cause.*member, Words(of, key, where));
  }
  // Files of earlier versions know nothing of shelving.
  if (of.Find("shelved_until_ns") != nullptr) {
    PLINTH_ASSIGN_OR_RETURN(alarm.shelved, Whole(of, "shelved_ns", where));
    PLINTH_ASSIGN_OR_RETURN(alarm.shelved_until, Whole(of, "shelved_until_ns", where));
    PLINTH_ASSIGN_OR_RETURN(alarm.shelved_by, Words(of, "shelved_by", where));
    PLINTH_ASSIGN_OR_RETURN(alarm.shelved_why, Words(of, "shelved_why", where));
  }
  PLINTH_ASSIGN_OR_RETURN(alarm.by, Words(of, "by", where));
  PLINTH_ASSIGN_OR_RETURN(alarm.note, Words(of, "note", where));
  PLINTH_ASSIGN_OR_RETURN(const std::string priority, Words(of, "priority", where));
  for (const AlarmPriority p : {AlarmPriority::kLow, AlarmPriority::kMedium, AlarmPriority::kHigh}) {
    if (PriorityName(p) == priority) alarm.cause.priority = p;
  }
  if (const JsonValue* score = of.Find("score")) {
    if (score->real() != nullptr) alarm.cause.score = *score->real();
    if (score->integer() != nullptr) alarm.cause.score = static_cast<double>(*score->integer());
  }
  return alarm;
}

void WriteTime(int64_t wall, formats::JsonWriter& json) {
  if (wall == 0) {
    json.Null();
  } else {
    json.String(evidence::Rfc3339(wall));
  }
}

// Shelving whose time is over was never there.
void Expire(Alarm* alarm, int64_t now) {
  if (alarm->is_shelved(now)) return;
  alarm->shelved = alarm->shelved_until = 0;
  alarm->shelved_by.clear(), alarm->shelved_why.clear();
}

}  // namespace

std::string_view PriorityName(AlarmPriority priority) {
  switch (priority) {
    case AlarmPriority::kLow:
      return "low";
    case AlarmPriority::kMedium:
      return "medium";
    case AlarmPriority::kHigh:
      return "high";
  }
  return "low";
}

StatusOr<std::unique_ptr<Alarms>> Alarms::Open(Options options, const Clock& clock) {
  auto alarms = std::unique_ptr<Alarms>(new Alarms(std::move(options), clock));
  if (alarms->options_.folder.empty()) return alarms;
  PLINTH_RETURN_IF_ERROR(MakeFolders(alarms->options_.folder));
  const std::string path = JoinPath(alarms->options_.folder, "alarms.json");
  if (!FileExists(path)) return alarms;
  Status read;
  {
    const auto text = ReadFile(path, kMostBytes);
    if (!text.ok() && !absl::IsInvalidArgument(text.status())) return text.status();
    read = text.ok() ? alarms->Read(*text, path) : text.status();
  }
  if (read.ok()) return alarms;
  const std::string aside = StrCat(path, ".broken");
  if (std::rename(path.c_str(), aside.c_str()) != 0) return FileError(path, "moved aside", errno);
  alarms->alarms_.clear();
  alarms->next_id_ = 1;
  alarms->Raise({"service", "state", "", "", "", AlarmPriority::kMedium,
                 StrCat("earlier alarms could not be read and are now in ", aside, ": ",
                        std::string_view(read.message().data(), read.message().size()))});
  return alarms;
}

Status Alarms::Read(const std::string& text, const std::string& path) {
  PLINTH_ASSIGN_OR_RETURN(const JsonValue root, formats::ParseJson(text, path));
  PLINTH_ASSIGN_OR_RETURN(const std::string format, Words(root, "format", path));
  if (format != kFormat) return absl::InvalidArgumentError(StrCat(path, ": is no file of ", kFormat));
  PLINTH_ASSIGN_OR_RETURN(next_id_, Whole(root, "next_id", path));
  const JsonValue* list = root.Find("alarms");
  if (list == nullptr || list->array() == nullptr)
    return absl::InvalidArgumentError(StrCat(path, ": \"alarms\" is no list"));
  int64_t last_id = 0;
  for (const JsonValue& element : *list->array()) {
    const std::string where = StrCat(path, ": alarm ", alarms_.size() + 1);
    PLINTH_ASSIGN_OR_RETURN(Alarm alarm, ReadAlarm(element, where));
    if (alarm.id <= last_id || alarm.id >= next_id_)
      return absl::InvalidArgumentError(StrCat(where, ": its id ", alarm.id, " is out of order"));
    last_id = alarm.id;
    alarms_.push_back(std::move(alarm));
  }
  while (alarms_.size() > options_.most) MakeRoom();
  return absl::OkStatus();
}

Alarm* Alarms::Lasting(std::string_view source, std::string_view kind, std::string_view model,
                       std::string_view item, std::string_view target) {
  for (auto at = alarms_.rbegin(); at != alarms_.rend(); ++at) {
    const AlarmCause& c = at->cause;
    if (at->ended == 0 && c.item == item && c.target == target && c.kind == kind && c.source == source &&
        c.model == model) {
      return &*at;
    }
  }
  return nullptr;
}

Alarm* Alarms::Find(int64_t id) {
  const auto at = std::lower_bound(alarms_.begin(), alarms_.end(), id,
                                   [](const Alarm& alarm, int64_t wanted) { return alarm.id < wanted; });
  return at == alarms_.end() || at->id != id ? nullptr : &*at;
}

void Alarms::MakeRoom() {
  const int64_t now = clock_.Wall();
  const auto worth = [now](const Alarm& alarm) {
    // With a shelved one the shelving would go.
    if (alarm.is_shelved(now)) return 1;
    if (!alarm.open()) return 0;
    if (alarm.acknowledged != 0) return 1;
    return 2 + static_cast<int>(alarm.cause.priority);
  };
  const auto least = std::min_element(alarms_.begin(), alarms_.end(), [&](const Alarm& a, const Alarm& b) {
    return worth(a) < worth(b);  // the oldest of those that are worth least
  });
  if (least->open()) ++dropped_;
  alarms_.erase(least);
}

int64_t Alarms::Raise(AlarmCause cause) {
  for (std::string* text :
       {&cause.source, &cause.kind, &cause.model, &cause.item, &cause.target, &cause.message}) {
    *text = Cut(*text);
  }
  Alarm changed;
  {
    const std::lock_guard lock(mutex_);
    const int64_t now = clock_.Wall();
    Alarm* alarm = Lasting(cause.source, cause.kind, cause.model, cause.item, cause.target);
    if (alarm == nullptr) {
      if (alarms_.size() >= options_.most) MakeRoom();
      // A condition that comes and goes stays on its shelf.
      const auto shelved = std::find_if(alarms_.rbegin(), alarms_.rend(), [&](const Alarm& a) {
        const AlarmCause& c = a.cause;
        return a.is_shelved(now) && c.item == cause.item && c.target == cause.target &&
               c.kind == cause.kind && c.source == cause.source && c.model == cause.model;
      });
      Alarm fresh;
      if (shelved != alarms_.rend()) {
        fresh.shelved = shelved->shelved, fresh.shelved_until = shelved->shelved_until;
        fresh.shelved_by = shelved->shelved_by, fresh.shelved_why = shelved->shelved_why;
      }
      alarm = &alarms_.emplace_back(std::move(fresh));
      alarm->id = next_id_++;
      alarm->raised = now;
      alarm->count = 0;
    }
    cause.priority = std::max(cause.priority, alarm->cause.priority);
    alarm->cause = std::move(cause);
    alarm->last = now;
    ++alarm->count;
    Expire(alarm, now);
    ++changes_;
    changed = *alarm;
  }
  if (changed_) changed_(changed);
  return changed.id;
}

void Alarms::End(std::string_view source, std::string_view kind, std::string_view model,
                 std::string_view item, std::string_view target) {
  Alarm changed;
  {
    const std::lock_guard lock(mutex_);
    Alarm* alarm = Lasting(source, kind, model, item, target);
    if (alarm == nullptr) return;
    alarm->ended = clock_.Wall();
    ++changes_;
    changed = *alarm;
  }
  if (changed_) changed_(changed);
}

StatusOr<Alarm> Alarms::Acknowledge(int64_t id, std::string_view by, std::string_view note) {
  if (by.find_first_not_of(" \t\r\n") == by.npos)
    return absl::InvalidArgumentError("by: is empty; say who acknowledges");
  Alarm changed;
  {
    const std::lock_guard lock(mutex_);
    Alarm* const at = Find(id);
    if (at == nullptr) return absl::NotFoundError(StrCat("there is no alarm ", id));
    if (at->acknowledged != 0) {
      return absl::AlreadyExistsError(
          StrCat("alarm ", id, " was acknowledged by ", at->by, " at ", evidence::Rfc3339(at->acknowledged)));
    }
    at->acknowledged = clock_.Wall();
    at->by = Cut(by, 100);
    at->note = Cut(note);
    ++changes_;
    changed = *at;
  }
  if (changed_) changed_(changed);
  return changed;
}

StatusOr<Alarm> Alarms::Shelve(int64_t id, int64_t minutes, std::string_view by, std::string_view why) {
  constexpr std::string_view kSpaces = " \t\r\n";
  if (by.find_first_not_of(kSpaces) == by.npos)
    return absl::InvalidArgumentError("by: is empty; say who shelves");
  if (why.find_first_not_of(kSpaces) == why.npos)
    return absl::InvalidArgumentError("why: is empty; say why nobody needs to be called");
  if (minutes < 1 || minutes > kMostShelvedMinutes) {
    return absl::InvalidArgumentError(
        StrCat("minutes: is ", minutes, "; 1 to ", kMostShelvedMinutes, " (seven days) are expected"));
  }
  Alarm changed;
  {
    const std::lock_guard lock(mutex_);
    Alarm* const at = Find(id);
    if (at == nullptr) return absl::NotFoundError(StrCat("there is no alarm ", id));
    at->shelved = clock_.Wall();
    at->shelved_until = at->shelved + minutes * 60'000'000'000;
    at->shelved_by = Cut(by, 100);
    at->shelved_why = Cut(why);
    ++changes_;
    changed = *at;
  }
  if (changed_) changed_(changed);
  return changed;
}

StatusOr<Alarm> Alarms::Unshelve(int64_t id) {
  Alarm changed;
  {
    const std::lock_guard lock(mutex_);
    Alarm* const at = Find(id);
    if (at == nullptr) return absl::NotFoundError(StrCat("there is no alarm ", id));
    if (!at->is_shelved(clock_.Wall()))
      return absl::AlreadyExistsError(StrCat("alarm ", id, " is not shelved"));
    at->shelved_until = 0;
    Expire(at, clock_.Wall());
    ++changes_;
    changed = *at;
  }
  if (changed_) changed_(changed);
  return changed;
}

std::vector<Alarm> Alarms::List(size_t most) const {
  const int64_t now = clock_.Wall();
  const auto urgency = [now](const Alarm& alarm) {
    if (!alarm.open()) return 0;
    if (alarm.is_shelved(now)) return 2;
    return alarm.acknowledged != 0 ? 1 : 3 + static_cast<int>(alarm.cause.priority);
  };
  const std::lock_guard lock(mutex_);
  std::vector<const Alarm*> order;
  for (auto at = alarms_.rbegin(); at != alarms_.rend(); ++at) order.push_back(&*at);
  std::stable_sort(order.begin(), order.end(),
                   [&](const Alarm* a, const Alarm* b) { return urgency(*a) > urgency(*b); });
  std::vector<Alarm> list;
  for (size_t i = 0; i < std::min(most, order.size()); ++i) {
    list.push_back(*order[i]);
    Expire(&list.back(), now);
  }
  return list;
}

Alarms::Counts Alarms::counts() const {
  const std::lock_guard lock(mutex_);
  Counts counts;
  const int64_t now = clock_.Wall();
  for (const Alarm& alarm : alarms_) {
    const bool shelved = alarm.is_shelved(now);
    counts.shelved += shelved ? 1 : 0;
    counts.unacknowledged += alarm.acknowledged == 0 && !shelved ? 1 : 0;
    counts.open += alarm.open() ? 1 : 0;
  }
  counts.all = static_cast<int64_t>(alarms_.size());
  counts.dropped = dropped_;
  counts.not_saved = not_saved_;
  return counts;
}

Status Alarms::Save() {
  if (options_.folder.empty()) return absl::OkStatus();
  const std::lock_guard one(saving_);
  std::string text;
  uint64_t changes;
  {
    const std::lock_guard lock(mutex_);
    if (changes_ == saved_) return absl::OkStatus();
    changes = changes_;
    formats::JsonWriter w(&text);
    w.BeginObject();
    w.Key("format"), w.String(kFormat);
    w.Key("next_id"), w.Int(next_id_);
    w.Key("alarms"), w.BeginArray();
    for (const Alarm& alarm : alarms_) {
      w.BeginObject();
      w.Key("id"), w.Int(alarm.id);
      w.Key("raised_ns"), w.Int(alarm.raised);
      w.Key("last_ns"), w.Int(alarm.last);
      w.Key("count"), w.Int(alarm.count);
      w.Key("ended_ns"), w.Int(alarm.ended);
      w.Key("acknowledged_ns"), w.Int(alarm.acknowledged);
      w.Key("by"), w.String(alarm.by);
      w.Key("note"), w.String(alarm.note);
      w.Key("source"), w.String(alarm.cause.source);
      w.Key("kind"), w.String(alarm.cause.kind);
      w.Key("model"), w.String(alarm.cause.model);
      w.Key("item"), w.String(alarm.cause.item);
      w.Key("target"), w.String(alarm.cause.target);
      if (alarm.shelved_until != 0) {
        w.Key("shelved_ns"), w.Int(alarm.shelved);
        w.Key("shelved_until_ns"), w.Int(alarm.shelved_until);
        w.Key("shelved_by"), w.String(alarm.shelved_by);
        w.Key("shelved_why"), w.String(alarm.shelved_why);
      }
      w.Key("priority"), w.String(PriorityName(alarm.cause.priority));
      w.Key("message"), w.String(alarm.cause.message);
      w.Key("score"), w.Number(alarm.cause.score);
      w.EndObject();
    }
    w.EndArray();
    w.EndObject();
    w.EndLine();
  }
  const Status written = WriteFile(JoinPath(options_.folder, "alarms.json"), text);
  const std::lock_guard lock(mutex_);
  if (written.ok()) saved_ = changes;
  not_saved_ = std::string(written.message());
  return written;
}

void WriteAlarm(const Alarm& alarm, formats::JsonWriter& w) {
  w.BeginObject();
  w.Key("id"), w.Int(alarm.id);
  w.Key("source"), w.String(alarm.cause.source);
  w.Key("kind"), w.String(alarm.cause.kind);
  w.Key("model"), w.String(alarm.cause.model);
  w.Key("item"), w.String(alarm.cause.item);
  w.Key("target"), w.String(alarm.cause.target);
  w.Key("priority"), w.String(PriorityName(alarm.cause.priority));
  w.Key("message"), w.String(alarm.cause.message);
  w.Key("score"), w.Number(alarm.cause.score);
  w.Key("raised"), WriteTime(alarm.raised, w);
  w.Key("last"), WriteTime(alarm.last, w);
  w.Key("count"), w.Int(alarm.count);
  w.Key("ended"), WriteTime(alarm.ended, w);
  w.Key("acknowledged"), WriteTime(alarm.acknowledged, w);
  w.Key("by"), w.String(alarm.by);
  w.Key("note"), w.String(alarm.note);
  w.Key("shelved");
  if (alarm.shelved_until == 0) {
    w.Null();
  } else {
    w.BeginObject();
    w.Key("at"), WriteTime(alarm.shelved, w);
    w.Key("until"), WriteTime(alarm.shelved_until, w);
    w.Key("by"), w.String(alarm.shelved_by);
    w.Key("why"), w.String(alarm.shelved_why);
    w.EndObject();
  }
  w.EndObject();
}

}  // namespace plinth::server
