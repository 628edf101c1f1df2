#include "plinth/ops/top_k/cpu.h"

#include "plinth/ops/order_key.h"
#include "plinth/ops/row_pieces.h"

namespace plinth::ops::PLINTH_KERNEL_LEVEL {
namespace {

// An entry is larger the better: the key (turned over for the smallest) above the index counted from the
// end. No two are equal.
uint64_t Entry(float x, uint32_t turn, int64_t i) {
  return static_cast<uint64_t>(OrderKey(x) ^ turn) << 32 | (UINT32_MAX - static_cast<uint32_t>(i));
}

// Puts `entry` at `at` or below, so that no parent is larger than its children.
void SiftDown(uint64_t* heap, int64_t size, int64_t at, uint64_t entry) {
  while (true) {
    int64_t child = 2 * at + 1;
    if (child >= size) break;
    if (child + 1 < size && heap[child + 1] < heap[child]) ++child;
    if (entry <= heap[child]) break;
    heap[at] = heap[child];
    at = child;
  }
  heap[at] = entry;
}

// The largest key of a block, which tells whether the block needs a closer look.
constexpr int64_t kBlock = 32;
uint32_t BestKey(const float* x, uint32_t turn) {
  uint32_t best = 0;
#pragma omp simd reduction(max : best)
  for (int64_t i = 0; i < kBlock; ++i) {
    const uint32_t key = OrderKey(x[i]) ^ turn;
    best = key > best ? key : best;
  }
  return best;
}

// The best k entries of a row, best first. A heap keeps the best so far with the worst of them on top.
void SelectBest(const float* x, int64_t n, int64_t k, uint32_t turn, uint64_t* heap) {
  for (int64_t i = 0; i < k; ++i) heap[i] = Entry(x[i], turn, i);
  for (int64_t at = k / 2 - 1; at >= 0; --at) SiftDown(heap, k, at, heap[at]);
  for (int64_t start = k; start < n; start += kBlock) {
    const int64_t stop = n - start < kBlock ? n : start + kBlock;
    // An equal key loses to the worst one kept, whose index is lower.
    if (stop - start == kBlock && BestKey(x + start, turn) <= heap[0] >> 32) continue;
    for (int64_t i = start; i < stop; ++i) {
      const uint64_t entry = Entry(x[i], turn, i);
      if (entry > heap[0]) SiftDown(heap, k, 0, entry);
    }
  }
  for (int64_t size = k - 1; size > 0; --size) {  // the worst of what is left goes to the end
    const uint64_t worst = heap[0];
    SiftDown(heap, size, 0, heap[size]);
    heap[size] = worst;
  }
}

}  // namespace

void TopKF32(const CpuArgs& args, int64_t begin, int64_t end) {
  const uint32_t turn = static_cast<const TopKParams*>(args.params)->largest ? 0 : UINT32_MAX;
  const int64_t n = args.in[0].last(), k = args.out[0].last();
  if (n > INT32_MAX) {
    *args.fault = {"the last dimension is too long for i32 indices", n, 0};
    return;
  }
  uint64_t* heap = reinterpret_cast<uint64_t*>(args.scratch);
  for (int64_t row : RowsOf(args.in[0], begin, end)) {
    const float* x = Row<const float>(args.in[0], row);
    float* values = Row<float>(args.out[0], row);
    int32_t* indices = Row<int32_t>(args.out[1], row);
    SelectBest(x, n, k, turn, heap);
    for (int64_t i = 0; i < k; ++i) {
      indices[i] = static_cast<int32_t>(UINT32_MAX - static_cast<uint32_t>(heap[i] & UINT32_MAX));
      values[i] = x[indices[i]];
    }
  }
}

}  // namespace plinth::ops::PLINTH_KERNEL_LEVEL
