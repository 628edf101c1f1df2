// Keeps what a person shall look at: alarms, who acknowledged them, and both over a restart.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "plinth/base/clock.h"
#include "plinth/base/status.h"
#include "plinth/formats/json_writer.h"

namespace plinth::server {

enum class AlarmPriority : uint8_t { kLow, kMedium, kHigh };
std::string_view PriorityName(AlarmPriority priority);  // "low", "medium", "high"

// What raises an alarm says of it. Texts are cut after kAlarmText bytes.
struct AlarmCause {
  std::string source;               // who watches: "detect", "service"
  std::string kind;                 // what was seen: "point", "subsequence", "drift"
  std::string model, item, target;  // empty: none
  AlarmPriority priority = AlarmPriority::kLow;
  std::string message;  // one sentence
  double score = 0;
};
inline constexpr size_t kAlarmText = 500;

// One alarm. It is open until somebody has acknowledged it and its condition is over; then it is history.
struct Alarm {
  int64_t id = 0;  // from 1
  AlarmCause cause;
  int64_t raised = 0, last = 0;  // Clock::Wall: first and last time it was seen
  int64_t count = 1;
  int64_t ended = 0;         // when its condition was over; 0: it lasts
  int64_t acknowledged = 0;  // when; 0: not yet
  std::string by, note;
  // Out of sight for a while: until then nobody is called for it, nor for another of the same condition.
  int64_t shelved = 0, shelved_until = 0;  // when, and until when; 0: not
  std::string shelved_by, shelved_why;

  bool is_shelved(int64_t now) const { return shelved_until > now; }
  bool open() const { return acknowledged == 0 || ended == 0; }
};

// Bounded and thread-safe. An alarm of the same source, kind, model, item and target as one whose condition
// lasts is counted there, so that a condition that is seen every minute is one line and not a flood.
class Alarms {
 public:
  struct Options {
    size_t most =
        1000;  // beyond, history goes first, then acknowledged ones, then the oldest of least priority
    std::string folder;  // for alarms.json; empty: they last as long as the process
  };
  // Reads what an earlier process left. A file that cannot be read as alarms is moved to alarms.json.broken,
  // which is itself an alarm. Errors: FileError.
  static StatusOr<std::unique_ptr<Alarms>> Open(Options options, const Clock& clock = Clock::System());

  // Returns its id.
  int64_t Raise(AlarmCause cause);
  // The condition is over. Nothing happens where no such alarm lasts.
  void End(std::string_view source, std::string_view kind, std::string_view model, std::string_view item,
           std::string_view target);
  // Errors: NotFound; AlreadyExists with who and when; InvalidArgument without a name.
  StatusOr<Alarm> Acknowledge(int64_t id, std::string_view by, std::string_view note);

  // Puts the alarm out of sight for so many minutes, in the place of what was there before. When they are
  // over it comes back by itself. Errors: NotFound; InvalidArgument without a name or a reason, or for
  // minutes not in [1, kMostShelvedMinutes].
  StatusOr<Alarm> Shelve(int64_t id, int64_t minutes, std::string_view by, std::string_view why);
  static constexpr int64_t kMostShelvedMinutes = 7 * 24 * 60;
  // Brings it back before. Errors: NotFound; AlreadyExists where it is not shelved.
  StatusOr<Alarm> Unshelve(int64_t id);

  // Expired shelving is left out. What is not acknowledged by priority, then what is shelved, what else is
  // open, and history; newest first in each.
  std::vector<Alarm> List(size_t most) const;
  struct Counts {
    int64_t unacknowledged = 0;  // without those that are shelved
    int64_t open = 0, all = 0, shelved = 0;
    int64_t dropped = 0;    // left out for want of room, since the start
    std::string not_saved;  // why the last Save failed; empty: it did not
  };
  Counts counts() const;

  // Writes the file where something changed since the last time; nothing happens without a folder. To be
  // called where waiting for a disk harms nobody. Errors: FileError; what is kept stays as it was.
  Status Save();
  // `changed` is called after each change, with the alarm, on the thread that made it. Set once, before use.
  void OnChange(std::function<void(const Alarm&)> changed) { changed_ = std::move(changed); }

 private:
  Alarms(Options options, const Clock& clock) : options_(std::move(options)), clock_(clock) {}
  Status Read(const std::string& text, const std::string& path);
  Alarm* Lasting(std::string_view source, std::string_view kind, std::string_view model,
                 std::string_view item, std::string_view target);
  Alarm* Find(int64_t id);
  void MakeRoom();

  const Options options_;
  const Clock& clock_;
  std::function<void(const Alarm&)> changed_;
  mutable std::mutex mutex_;
  std::mutex saving_;         // one writer of the file at a time
  std::deque<Alarm> alarms_;  // oldest first
  int64_t next_id_ = 1, dropped_ = 0;
  uint64_t changes_ = 0, saved_ = 0;
  std::string not_saved_;
};

// One alarm as JSON: what GET /v1/alarms lists.
void WriteAlarm(const Alarm& alarm, formats::JsonWriter& json);

}  // namespace plinth::server
