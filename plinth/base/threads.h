// Runs independent pieces of work on a fixed number of threads that park when idle.
#pragma once

#include <cstdint>
#include <memory>

#include "absl/functional/function_ref.h"

namespace plinth {

// A pool of `count` threads, the calling one included. Two pools live side by side in one process.
// Pieces are fixed by the caller, never by the pool, so that results do not depend on the count.
class Threads {
 public:
  // count >= 1; 0 means one per available processor.
  explicit Threads(int count);
  ~Threads();
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

  int count() const { return count_; }

  // Calls body(piece, worker) for each piece in [0, pieces), in any order, and returns when all are
  // done. worker is in [0, count) and is not used by two pieces at a time. body must not throw.
  void For(int64_t pieces, absl::FunctionRef<void(int64_t piece, int worker)> body);

  // Processors this process may use (affinity and cgroup quota considered).
  static int Available();

 private:
  struct Impl;
  int count_;
  std::unique_ptr<Impl> impl_;
};

}  // namespace plinth
