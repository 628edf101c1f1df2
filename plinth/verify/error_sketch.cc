#include "plinth/verify/error_sketch.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <new>

namespace plinth::verify {
namespace {

constexpr int64_t kTable = int64_t{ErrorSketch::kRows} * ErrorSketch::kBins;

struct Free {
  void operator()(uint64_t* counts) const { std::free(counts); }
};
using Table = std::unique_ptr<uint64_t, Free>;

// Tables that nobody uses now; all zeros.
class Shelf {
 public:
  static Shelf& Get() {
    static Shelf shelf;
    return shelf;
  }

  uint64_t* Take() {
    const std::lock_guard lock(mutex_);
    if (tables_.empty()) return nullptr;
    uint64_t* counts = tables_.back().release();
    tables_.pop_back();
    return counts;
  }
  void Put(uint64_t* counts) {
    Table table(counts);
    const std::lock_guard lock(mutex_);
    tables_.push_back(std::move(table));
  }

 private:
  std::mutex mutex_;
  std::vector<Table> tables_;
};

void ReadBins(const uint64_t* counts, int64_t bins, int64_t first, double factor,
              std::vector<ErrorGroup>* groups) {
  const auto edge = [](int64_t bin) {
    return std::bit_cast<double>(static_cast<uint64_t>(std::max<int64_t>(bin, 0)) << ErrorSketch::kBinShift);
  };
  for (int64_t bin = 0; bin < bins; ++bin) {
    if (counts[bin] == 0) continue;
    const double low = edge(bin + first), high = edge(bin + first + 1);
    groups->push_back({(low + high) / 2 * factor, low * factor, static_cast<int64_t>(counts[bin])});
  }
}

}  // namespace

uint64_t* TakeSketchTable() {
  uint64_t* counts = Shelf::Get().Take();
  if (counts == nullptr) counts = static_cast<uint64_t*>(std::calloc(ErrorSketch::kCounts, sizeof(uint64_t)));
  if (counts == nullptr) throw std::bad_alloc();
  return counts;
}

void GiveBackSketchTable(const ErrorSketch& sketch) {
  for (int row = 0; row < ErrorSketch::kRows; ++row) {
    if (!sketch.touched[row]) continue;
    uint64_t* counts = sketch.counts + row * int64_t{ErrorSketch::kBins};
    std::fill_n(counts, ErrorSketch::kBins, 0);
    std::fill_n(counts + kTable, ErrorSketch::kBins, 0);
  }
  if (sketch.touched[ErrorSketch::kRows]) std::fill_n(sketch.counts + 2 * kTable, ErrorSketch::kZeroBins, 0);
  Shelf::Get().Put(sketch.counts);
}

double ReadSketch(const ErrorSketch& sketch, int base, double floor, std::vector<ErrorGroup>* groups) {
  const int floor_row = static_cast<int>(std::bit_cast<uint64_t>(floor) >> 52) - base;
  double most = 0;
  for (int row = 0; row < ErrorSketch::kRows; ++row) {
    if (!sketch.touched[row]) continue;
    const bool below = row < floor_row;
    ReadBins(sketch.counts + (below ? kTable : 0) + row * int64_t{ErrorSketch::kBins}, ErrorSketch::kBins,
             below ? base * int64_t{16} : ErrorSketch::kFirstRelative, below ? 1 / floor : 1, groups);
    most = std::max(most, below ? sketch.most[row] / floor : sketch.most_relative[row]);
  }
  if (!sketch.touched[ErrorSketch::kRows]) return most;
  ReadBins(sketch.counts + 2 * kTable, ErrorSketch::kZeroBins, 0, 1 / floor, groups);
  return std::max(most, sketch.most[ErrorSketch::kRows] / floor);
}

}  // namespace plinth::verify
