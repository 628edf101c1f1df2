// Keeps the history of rolling series between requests, so that clients send only what is new.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "plinth/base/clock.h"
#include "plinth/base/status.h"
#include "plinth/engine/series_item.h"

namespace plinth::server {

// Thread-safe. The longest unused history goes when there are too many, and each after `idle_nanoseconds`.
class SessionStore {
 public:
  struct Options {
    int64_t most = 10000;  // 0: none are kept
    int64_t idle_nanoseconds = 3600'000'000'000;
    int64_t rows = 8192;  // of a history; the newest are kept
  };
  explicit SessionStore(Options options, const Clock& clock = Clock::System())
      : options_(options), clock_(clock) {}

  // Adds the rows of `item` to the history named `id` and makes `item` the whole of it. Rows whose times the
  // history has already replace them (so a request may be sent again); times between are gaps. `id` begins
  // with the name of the caller's key, so that nobody sees another's. Errors: InvalidArgument for other
  // targets than the history has, numbered rows behind timed ones, another frequency, times off its grid or
  // before its beginning; ResourceExhausted where sessions are turned off.
  Status Extend(const std::string& id, const std::vector<std::string>& targets, engine::SeriesItem* item);
  // Whether there was one.
  bool Drop(const std::string& id);
  int64_t size() const;

 private:
  struct History {
    std::string id;
    std::vector<std::string> targets;
    engine::SeriesItem item;
    int64_t used = 0;
  };
  using List = std::list<History>;  // the longest unused first

  Status Check(const History& history, const std::vector<std::string>& targets,
               const engine::SeriesItem& item) const;
  StatusOr<int64_t> PlaceOf(const engine::SeriesItem& history, const engine::SeriesItem& item) const;
  void Trim(engine::SeriesItem* item) const;
  void Forget(int64_t now);

  const Options options_;
  const Clock& clock_;
  mutable std::mutex mutex_;
  List histories_;
  std::unordered_map<std::string, List::iterator> by_id_;
};

}  // namespace plinth::server
