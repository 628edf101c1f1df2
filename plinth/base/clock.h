// Tells the time through a seam, so that tests can set it.
#pragma once

#include <cstdint>

namespace plinth {

class Clock {
 public:
  virtual ~Clock() = default;
  // Nanoseconds since an arbitrary start; never goes back. For durations.
  virtual int64_t Monotonic() const = 0;
  // Nanoseconds since 1970-01-01T00:00:00Z. For time stamps.
  virtual int64_t Wall() const = 0;

  // The machine's clocks.
  static const Clock& System();
};

// Stands still until it is told otherwise.
class ManualClock : public Clock {
 public:
  explicit ManualClock(int64_t wall) : wall_(wall) {}
  int64_t Monotonic() const override { return monotonic_; }
  int64_t Wall() const override { return wall_; }
  void Advance(int64_t nanoseconds) {
    monotonic_ += nanoseconds;
    wall_ += nanoseconds;
  }

 private:
  int64_t monotonic_ = 0;
  int64_t wall_;
};

}  // namespace plinth
