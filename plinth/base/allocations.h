// Counts heap allocations of the process, to show that the run loop makes none.
#pragma once

#include <cstdint>

namespace plinth {

// Linking this library replaces malloc and its relatives with ones that count while a counter is alive.
// Under a sanitizer, which brings an allocator of its own, nothing is counted.
class AllocationCounter {
 public:
  AllocationCounter();
  ~AllocationCounter();
  AllocationCounter(const AllocationCounter&) = delete;
  AllocationCounter& operator=(const AllocationCounter&) = delete;

  // Calls of malloc, calloc, realloc, aligned_alloc and posix_memalign on any thread since it was made;
  // -1 where they cannot be counted.
  int64_t count() const;

 private:
  int64_t before_;
};

}  // namespace plinth
