// Turns Ctrl-C into a flag that long work polls, so that it ends cleanly with exit code 130.
#pragma once

#include <atomic>
#include <concepts>

#include "plinth/base/status.h"

namespace plinth {

// While alive, the first SIGINT or SIGTERM sets the flag; the second ends the process at once, as
// the system would. The destructor restores what was installed before. One at a time.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;
};

// Whether the first signal came since the guard was made; false without a guard.
bool Interrupted();

// What work that takes long asks between its steps: whether somebody wants it to stop.
class StopCheck {
 public:
  // Nobody ever does.
  StopCheck() = default;
  // As &Interrupted, or a lambda that captures nothing.
  template <std::convertible_to<bool (*)()> Asked>
  StopCheck(Asked asked) : asked_(asked) {}  // NOLINT(google-explicit-constructor)
  // `flag` must outlive the work.
  explicit StopCheck(const std::atomic<bool>* flag) : flag_(flag) {}
  bool operator()() const {
    return (asked_ != nullptr && asked_()) || (flag_ != nullptr && flag_->load(std::memory_order_relaxed));
  }

 private:
  bool (*asked_)() = nullptr;
  const std::atomic<bool>* flag_ = nullptr;
};

// Cancelled ("interrupted") once Interrupted(), else OK.
Status CheckInterrupted();

}  // namespace plinth
