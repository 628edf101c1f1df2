#include "plinth/base/interrupt.h"

#include <csignal>

#include "plinth/base/check.h"

namespace plinth {
namespace {

constexpr int kSignals[] = {SIGINT, SIGTERM};

// A signal handler has no other way to reach the program than a static flag.
volatile std::sig_atomic_t flag = 0;
volatile std::sig_atomic_t installed = 0;
struct sigaction before[2];

extern "C" void OnSignal(int signal) {
  if (flag != 0) {
    // Unblocked when this handler returns, and then it ends the process.
    std::signal(signal, SIG_DFL);
    std::raise(signal);
    return;
  }
  flag = 1;
}

}  // namespace

InterruptGuard::InterruptGuard() {
  PLINTH_CHECK_EQ(static_cast<int>(installed), 0);
  flag = 0;
  installed = 1;
  for (int i = 0; i < 2; ++i) {
    struct sigaction action = {};
    action.sa_handler = OnSignal;
    sigemptyset(&action.sa_mask);
    // No SA_RESTART: a read that waits on a pipe must come back and look at the flag.
    sigaction(kSignals[i], nullptr, &before[i]);
    // What the parent ignores (nohup, a background job of a script) stays ignored.
    if (before[i].sa_handler != SIG_IGN) sigaction(kSignals[i], &action, nullptr);
  }
}

InterruptGuard::~InterruptGuard() {
  for (int i = 0; i < 2; ++i) sigaction(kSignals[i], &before[i], nullptr);
  installed = 0;
  flag = 0;
}

bool Interrupted() { return flag != 0; }

Status CheckInterrupted() { return Interrupted() ? absl::CancelledError("interrupted") : absl::OkStatus(); }

}  // namespace plinth
