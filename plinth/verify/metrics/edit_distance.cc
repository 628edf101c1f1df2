#include "plinth/verify/metrics/edit_distance.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

namespace plinth::verify::metrics {
namespace {

// Vertical differences of one column of the distance table, 64 rows: where they are +1 and where -1.
struct Block {
  uint64_t plus = ~uint64_t{0}, minus = 0;
};
// The horizontal difference that enters a block from above and leaves it below.
struct Carry {
  uint64_t plus, minus;
};

// Moves a block to the next column. `equal`: rows whose symbol is the column's; `last`: the row whose
// horizontal difference counts.
int64_t Advance(Block& block, uint64_t equal, uint64_t last, Carry& carry) {
  const uint64_t vertical = equal | block.minus;
  equal |= carry.minus;
  const uint64_t diagonal = (((equal & block.plus) + block.plus) ^ block.plus) | equal;
  uint64_t plus = block.minus | ~(diagonal | block.plus);
  uint64_t minus = block.plus & diagonal;
  const int64_t change = ((plus & last) != 0 ? 1 : 0) - ((minus & last) != 0 ? 1 : 0);
  const Carry out{plus >> 63, minus >> 63};
  plus = plus << 1 | carry.plus;
  minus = minus << 1 | carry.minus;
  block.plus = minus | ~(vertical | plus);
  block.minus = plus & vertical;
  carry = out;
  return change;
}

}  // namespace

int64_t EditDistance(std::span<const uint32_t> a, std::span<const uint32_t> b) {
  while (!a.empty() && !b.empty() && a.front() == b.front()) a = a.subspan(1), b = b.subspan(1);
  while (!a.empty() && !b.empty() && a.back() == b.back())
    a = a.first(a.size() - 1), b = b.first(b.size() - 1);
  if (a.size() > b.size()) std::swap(a, b);
  if (a.empty()) return static_cast<int64_t>(b.size());
  const size_t blocks = (a.size() + 63) / 64;
  std::unordered_map<uint32_t, std::vector<uint64_t>> rows_of;
  for (size_t i = 0; i < a.size(); ++i) {
    auto& rows = rows_of[a[i]];
    if (rows.empty()) rows.resize(blocks);
    rows[i / 64] |= uint64_t{1} << (i % 64);
  }
  const std::vector<uint64_t> nowhere(blocks, 0);
  std::vector<Block> column(blocks);
  int64_t distance = static_cast<int64_t>(a.size());
  const uint64_t last = uint64_t{1} << ((a.size() - 1) % 64);
  for (const uint32_t symbol : b) {
    const auto at = rows_of.find(symbol);
    const std::vector<uint64_t>& rows = at == rows_of.end() ? nowhere : at->second;
    Carry carry{1, 0};  // the empty prefix of a is one further from a longer prefix of b
    for (size_t k = 0; k + 1 < blocks; ++k) Advance(column[k], rows[k], 0, carry);
    distance += Advance(column[blocks - 1], rows[blocks - 1], last, carry);
  }
  return distance;
}

}  // namespace plinth::verify::metrics
