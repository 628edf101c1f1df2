// Shows how far a long batch has come: one line on a terminal that redraws itself and goes away at the end.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>

#include "plinth/report/languages.h"
#include "plinth/report/terminal.h"

namespace plinth {

struct ProgressOptions {
  bool enabled = false;  // false: nothing is ever written
  TerminalStyle style;
  Language language = Language::kEnglish;
  std::string label;      // "forecast"
  int64_t total = 0;      // 0: unknown, no bar and no remaining time
  std::string_view unit;  // "series": the rate is "12.3 series/s"; a literal
  // The seams: seconds of a clock that never goes back, the terminal's width in cells now, and where the
  // bytes go.
  std::function<double()> seconds;
  std::function<int()> width;
  std::function<void(std::string_view)> write;
};

// Options for the process's standard error: enabled when it is a terminal that understands control
// sequences.
ProgressOptions StandardErrorProgress(std::string_view label, int64_t total, std::string_view unit);

// First shown after half a second, so that short work shows nothing, then redrawn ten times a second at
// most, in one write per line. Any thread may report; a report that is not due for redrawing costs one
// atomic addition and a look at the clock.
class Progress {
 public:
  explicit Progress(ProgressOptions options);
  ~Progress() { Finish(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void Add(int64_t count);

  // Clears the line, so that something else can be printed; the next redrawing brings it back.
  void Clear();

  // Clears the line for good.
  void Finish();

  int64_t done() const { return done_.load(std::memory_order_relaxed); }

 private:
  void Draw(double now);
  void ClearLocked();
  std::string Line(double now, int width) const;
  std::string Bar(int cells, double part) const;

  const ProgressOptions options_;
  const double start_;
  std::atomic<int64_t> done_{0};
  std::atomic<double> next_;  // when the line is drawn again
  std::mutex mutex_;          // guards what follows and the writing
  bool shown_ = false;
  bool finished_ = false;
  double rate_ = 0;  // per second, smoothed
  double rate_at_ = 0;
  int64_t rate_done_ = 0;
};

}  // namespace plinth
