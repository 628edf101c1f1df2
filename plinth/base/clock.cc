#include "plinth/base/clock.h"

#include <chrono>

namespace plinth {
namespace {

template <typename Source>
int64_t Nanoseconds() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Source::now().time_since_epoch()).count();
}

class SystemClock : public Clock {
 public:
  int64_t Monotonic() const override { return Nanoseconds<std::chrono::steady_clock>(); }
  int64_t Wall() const override { return Nanoseconds<std::chrono::system_clock>(); }
};

}  // namespace

const Clock& Clock::System() {
  static const SystemClock clock;
  return clock;
}

}  // namespace plinth
