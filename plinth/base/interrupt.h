// Turns Ctrl-C into a flag that long work polls, so that it ends cleanly with exit code 130.
#pragma once

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

// Cancelled ("interrupted") once Interrupted(), else OK.
Status CheckInterrupted();

}  // namespace plinth
