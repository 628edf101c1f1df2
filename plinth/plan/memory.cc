#include "plinth/plan/memory.h"

#include <algorithm>
#include <numeric>

#include "plinth/tensor/tensor.h"

namespace plinth::plan {
namespace {

int64_t Rounded(int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

}  // namespace

int64_t PlaceBuffers(std::vector<Lifetime>& buffers) {
  std::vector<size_t> order(buffers.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return buffers[a].bytes > buffers[b].bytes; });
  std::vector<size_t> placed;  // by offset
  int64_t total = 0;
  for (const size_t i : order) {
    Lifetime& b = buffers[i];
    const int64_t need = Rounded(b.bytes);
    int64_t at = 0;
    for (const size_t j : placed) {
      const Lifetime& other = buffers[j];
      if (other.last < b.first || b.last < other.first) continue;
      if (other.offset - at >= need) break;
      at = std::max(at, other.offset + Rounded(other.bytes));
    }
    b.offset = at;
    total = std::max(total, at + need);
    placed.insert(std::upper_bound(placed.begin(), placed.end(), i,
                                   [&](size_t x, size_t y) { return buffers[x].offset < buffers[y].offset; }),
                  i);
  }
  return total;
}

int64_t PeakBytes(const std::vector<Lifetime>& buffers) {
  int64_t peak = 0;
  for (const Lifetime& at : buffers) {  // a peak is reached where some buffer begins
    int64_t sum = 0;
    for (const Lifetime& b : buffers) {
      if (b.first <= at.first && at.first <= b.last) sum += Rounded(b.bytes);
    }
    peak = std::max(peak, sum);
  }
  return peak;
}

}  // namespace plinth::plan
