#include "plinth/tensor/resident.h"

#include <sys/mman.h>

namespace plinth {

AlignedBytes AllocateResident(int64_t bytes) {
  constexpr int64_t kHugePage = int64_t{2} << 20;
  if (bytes < kHugePage || bytes > kMostBytes) return AllocateAligned(bytes);
  const int64_t whole = bytes / kHugePage * kHugePage;
  const int64_t rounded = whole + (bytes > whole ? kHugePage : 0);
  auto* p = static_cast<std::byte*>(std::aligned_alloc(kHugePage, static_cast<size_t>(rounded)));
  // What is left behind the last whole page stays in small ones, so that it takes no more than it needs. A
  // system without huge pages refuses, and nothing is lost.
  if (p != nullptr) static_cast<void>(madvise(p, static_cast<size_t>(whole), MADV_HUGEPAGE));
  return AlignedBytes(p, &std::free);
}

}  // namespace plinth
