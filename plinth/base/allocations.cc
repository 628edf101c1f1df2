#include "plinth/base/allocations.h"

#include <atomic>
#include <cerrno>
#include <cstddef>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__GLIBC__)
#define PLINTH_COUNTS 0
#else
#define PLINTH_COUNTS 1
#endif

namespace plinth {
namespace {

std::atomic<int> counters{0};
std::atomic<int64_t> total{0};

#if PLINTH_COUNTS
void Count() {
  if (counters.load(std::memory_order_relaxed) > 0) total.fetch_add(1, std::memory_order_relaxed);
}
#endif

}  // namespace

AllocationCounter::AllocationCounter() : before_(total.load()) { counters.fetch_add(1); }
AllocationCounter::~AllocationCounter() { counters.fetch_sub(1); }
int64_t AllocationCounter::count() const { return PLINTH_COUNTS ? total.load() - before_ : -1; }

}  // namespace plinth

#if PLINTH_COUNTS
// glibc's own entry points, which stay reachable under these names when malloc is replaced.
extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);
void __libc_free(void*);

void* malloc(size_t n) {
  plinth::Count();
  return __libc_malloc(n);
}
void* calloc(size_t count, size_t n) {
  plinth::Count();
  return __libc_calloc(count, n);
}
void* realloc(void* p, size_t n) {
  plinth::Count();
  return __libc_realloc(p, n);
}
void* memalign(size_t alignment, size_t n) {
  plinth::Count();
  return __libc_memalign(alignment, n);
}
void* aligned_alloc(size_t alignment, size_t n) { return memalign(alignment, n); }
int posix_memalign(void** p, size_t alignment, size_t n) {
  *p = memalign(alignment, n);
  return *p == nullptr ? ENOMEM : 0;
}
void free(void* p) { __libc_free(p); }
}
#endif
