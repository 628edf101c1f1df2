// Keeps signals away from threads that do not wait for them.
#pragma once

#include <pthread.h>

#include <csignal>

namespace plinth {

// Of the calling thread: every signal of the process then goes to another one.
inline void BlockSignals() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
}

}  // namespace plinth
