#include "plinth/ops/sort/cpu.h"

#include "plinth/ops/order_key.h"
#include "plinth/ops/row_pieces.h"

namespace plinth::ops::PLINTH_KERNEL_LEVEL {
namespace {

// An entry is a key in the upper and an index in the lower half, so that no two are equal and the order
// of entries is the stable order of keys.

void InsertionSort(uint64_t* entries, int64_t n) {
  for (int64_t i = 1; i < n; ++i) {
    const uint64_t entry = entries[i];
    int64_t at = i;
    for (; at > 0 && entries[at - 1] > entry; --at) entries[at] = entries[at - 1];
    entries[at] = entry;
  }
}

// Distributes by one byte of the key after the other, from the lowest; each pass is stable, and indices
// ascend to begin with. A byte that is the same in all entries needs no pass. Returns where the sorted
// entries are: `entries` or `other`.
uint64_t* RadixSort(uint64_t* entries, uint64_t* other, int64_t n) {
  uint32_t counts[4][256] = {};
  for (int64_t i = 0; i < n; ++i) {
    for (int byte = 0; byte < 4; ++byte) ++counts[byte][entries[i] >> (32 + 8 * byte) & 0xff];
  }
  for (int byte = 0; byte < 4; ++byte) {
    const int shift = 32 + 8 * byte;
    uint32_t* count = counts[byte];
    if (count[entries[0] >> shift & 0xff] == static_cast<uint32_t>(n)) continue;
    uint32_t start = 0;
    for (int b = 0; b < 256; ++b) {
      const uint32_t here = count[b];
      count[b] = start;
      start += here;
    }
    for (int64_t i = 0; i < n; ++i) other[count[entries[i] >> shift & 0xff]++] = entries[i];
    uint64_t* swap = entries;
    entries = other;
    other = swap;
  }
  return entries;
}

}  // namespace

void SortF32(const CpuArgs& args, int64_t begin, int64_t end) {
  const bool descending = static_cast<const SortParams*>(args.params)->descending;
  const int64_t n = args.in[0].last();
  if (n > INT32_MAX) {
    *args.fault = {"the last dimension is too long for i32 indices", n, 0};
    return;
  }
  uint64_t* entries = reinterpret_cast<uint64_t*>(args.scratch);
  const uint32_t turn = descending ? UINT32_MAX : 0;
  for (int64_t row : RowsOf(args.in[0], begin, end)) {
    const float* x = Row<const float>(args.in[0], row);
    float* values = Row<float>(args.out[0], row);
    int32_t* indices = Row<int32_t>(args.out[1], row);
    for (int64_t i = 0; i < n; ++i) {
      entries[i] = static_cast<uint64_t>(OrderKey(x[i]) ^ turn) << 32 | static_cast<uint32_t>(i);
    }
    const uint64_t* sorted = entries;
    if (n <= 64) {
      InsertionSort(entries, n);
    } else {
      sorted = RadixSort(entries, entries + n, n);
    }
    for (int64_t i = 0; i < n; ++i) {
      indices[i] = static_cast<int32_t>(sorted[i] & UINT32_MAX);
      values[i] = x[indices[i]];
    }
  }
}

}  // namespace plinth::ops::PLINTH_KERNEL_LEVEL
