// Keeps what was learnt of rolling series, so that new rows are scored by it as they come.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "plinth/base/clock.h"
#include "plinth/base/interrupt.h"
#include "plinth/detect/stream.h"
#include "plinth/server/session_store.h"

namespace plinth::server {

// Thread-safe; requests of one session and item have their turns. Each session and item first gathers a
// calibration part; then it is scored, and what was learnt stays as it is. The longest unused one goes when
// there are too many, and each after `idle_nanoseconds`.
class DetectSessions {
 public:
  struct Options {
    int64_t most = 10000;  // 0: none are kept
    int64_t idle_nanoseconds = 3600'000'000'000;
  };
  static constexpr int64_t kMostRows = 8192;  // of one item in one request, and of a calibration part
  static constexpr int64_t kUsualCalibration = 512;

  explicit DetectSessions(Options options, const Clock& clock = Clock::System());

  // What is asked of one item. `id` as SessionStore has it.
  struct Request {
    std::string id;
    const std::vector<std::string>* targets;
    detect::Options options;  // `calibration`: rows to learn from, at least detect::kLeastRows
    uint64_t generation = 0;  // of the model: another one learns anew, from the rows that are kept
  };
  struct Answer {
    detect::Detection detection;  // of the request's rows behind the calibration part; rows count in the item
    int64_t missing = 0;          // rows until there is enough to learn from
    int64_t before = 0;           // rows of the session that `item` does not hold any more
    int64_t fresh = 0;            // rows from here on had not been scored before
  };
  // Adds the rows of `item` to what is kept, makes `item` the whole of it, and scores them. Errors: those of
  // SessionStore::Extend; InvalidArgument for too many rows, and options that differ from those that the
  // session began with; those of detect::Fitted.
  StatusOr<Answer> Score(engine::Forecaster& forecaster, const Request& request, engine::SeriesItem* item,
                         StopCheck cancelled);
  int64_t size() const;

 private:
  struct State {
    std::mutex mutex;
    std::shared_ptr<const detect::Fitted> fitted;
    std::string options;  // that it began with
    uint64_t generation = 0;
    bool begun = false;
    series::Timestamp origin;              // of row 0, where rows have times
    int64_t before = 0;                    // rows of the session before row 0
    int64_t total = 0;                     // rows since row 0
    int64_t scored = 0;                    // rows up to here have been
    int64_t kept = 0;                      // `findings` cover rows [kept, scored)
    detect::Findings findings;             // what alarms that go on need
    std::optional<detect::Alarm> lasting;  // began before `kept`
  };
  struct Entry {
    std::string id;
    std::shared_ptr<State> state;
    int64_t used = 0;
  };
  using List = std::list<Entry>;  // the longest unused first

  std::shared_ptr<State> Find(const std::string& id);
  // Where the request's rows begin and what is kept, in rows since row 0.
  struct Place {
    int64_t base = 0, at = 0;
  };
  static Place Locate(State& state, const engine::SeriesItem& given, const engine::SeriesItem& whole);
  static Status Learn(State& state, engine::Forecaster& forecaster, const Request& request,
                      const engine::SeriesItem& item, StopCheck cancelled);
  static StatusOr<detect::Detection> ScoreRows(State& state, engine::Forecaster& forecaster,
                                               const engine::SeriesItem& item, const Place& place,
                                               StopCheck cancelled);
  static std::vector<detect::Alarm> TakeAlarms(State& state, std::span<const std::span<const double>> tail,
                                               detect::Findings findings, int64_t base);

  const Options options_;
  const Clock& clock_;
  SessionStore rows_;
  mutable std::mutex mutex_;
  List entries_;
  std::unordered_map<std::string, List::iterator> by_id_;
};

}  // namespace plinth::server
