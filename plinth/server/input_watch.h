// Watches what clients send: values, windows and series that look like no measurement of this sensor.
#pragma once

#include <array>
#include <cstdint>
#include <list>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "plinth/base/clock.h"
#include "plinth/engine/series_item.h"
#include "plinth/formats/json_writer.h"
#include "plinth/server/window_shape.h"

namespace plinth::server {

enum class InputKind : uint8_t { kRange, kFlat, kReplay, kShape, kGaps, kClipped };
inline constexpr size_t kInputKinds = 6;
std::string_view InputKindName(InputKind kind);  // "range", "flat", "replay", "shape", "gaps", "clipped"

struct InputFinding {
  size_t item = 0, target = 0;  // of the request
  InputKind kind = InputKind::kRange;
  std::string message;  // one sentence
  double score = 0;     // how far beyond what was seen, in the unit of the sentence
};

// Reports and changes nothing. What each kind means, and what it is compared with, stands in docs/serving.md
// ("Input watch"). Bounded and thread-safe: the longest unused series goes when there are too many, and each
// after it was idle. A series has state where its item has a name; else a request stands by itself.
class InputWatch {
 public:
  struct Options {
    bool enabled = true;
    size_t series = 10000;  // with state, about 3 kB each; 0: none
    int64_t idle_nanoseconds = 86'400'000'000'000;
    double gap_share = 0.3;  // of the newest rows
  };
  explicit InputWatch(Options options, const Clock& clock = Clock::System());

  // One request. `source` tells clients (and sessions) apart.
  struct Seen {
    std::string_view model, source;
    std::span<const engine::SeriesItem> items;
    std::span<const std::string> targets;
  };
  struct Over {
    size_t item, target;
    InputKind kind;
  };
  struct Result {
    std::vector<InputFinding> findings;  // at most kMostFindings, in the order of the request
    std::vector<Over> over;              // what an earlier request of the series had and this one has not
  };
  Result Look(const Seen& seen);
  static constexpr size_t kMostFindings = 100;

  struct Counts {
    int64_t series = 0;   // with state
    int64_t windows = 0;  // looked at since the start
    std::array<int64_t, kInputKinds> found{};
  };
  Counts counts() const;
  // {"enabled", "series", "windows", "found": {kind: count}}
  void WriteJson(formats::JsonWriter& json) const;
  const Options& options() const { return options_; }

 private:
  struct Mark {  // of a window of values that was seen
    uint32_t hash = 0;
    int64_t time = 0;
  };
  struct Series {
    std::string id;
    int64_t used = 0, last = 0;  // `last`: time of the newest row
    int64_t rows = 0;            // seen
    double low = 0, high = 0;    // of all rows
    int64_t longest_flat = 0;    // of runs that are over
    int64_t learned = 0;         // time of the newest row when its shape was learned
    uint32_t lasting = 0;        // bits of kinds that the last look found
    bool repeats = false;        // by nature: replay cannot be told
    int64_t shift = 0;           // of the windows that were found again lately
    int matches = 0;
    size_t next_mark = 0;
    std::array<Mark, 128> marks{};
  };
  struct Window;
  using List = std::list<Series>;

  Series* StateOf(const Seen& seen, const engine::SeriesItem& item, std::string_view target, bool* first);
  void LookAt(const Seen& seen, size_t item, size_t target, Result* result);
  void Replay(const Window& window, Series* state, bool first, double* span_rows);
  static void Learn(const Window& window, int64_t longest_flat, Series* state);

  const Options options_;
  const Clock& clock_;
  mutable std::mutex mutex_;
  List series_;  // the longest unused first
  std::unordered_map<std::string_view, List::iterator> by_id_;
  std::unordered_map<std::string, ShapeReference> shapes_;  // by model
  Counts counts_;
};

// [{"item", "target", "kind", "message"}].
void WriteFindings(std::span<const InputFinding> findings, std::span<const engine::SeriesItem> items,
                   std::span<const std::string> targets, formats::JsonWriter& json);

}  // namespace plinth::server
