// What every block adds to the tally: relative errors, the worst element, lanes, tiles, fill patterns.
#pragma once

#include "plinth/verify/difference_kernel.h"
#include "plinth/verify/difference_vector.h"

namespace plinth::verify::PLINTH_KERNEL_LEVEL {

// The sums of a piece, every eighth element in one.
struct Accumulators {
  double a[kSums], d[kSums], aa[kSums], bb[kSums], ab[kSums], dd[kSums];
};

inline int64_t SketchBin(uint64_t bits, int64_t first) {
  const int64_t bin = static_cast<int64_t>(bits >> ErrorSketch::kBinShift) - first;
  return bin < 0 ? 0 : bin > ErrorSketch::kBins - 1 ? ErrorSketch::kBins - 1 : bin;
}

inline void Record(ErrorSketch* sketch, double abs_a, double abs_d, int base) {
  int row = ErrorSketch::kRows;
  uint64_t* counts = sketch->counts + 2 * int64_t{ErrorSketch::kRows} * ErrorSketch::kBins;
  if (abs_a == 0) {
    ++counts[BitsOf(abs_d) >> ErrorSketch::kBinShift];
  } else {
    row = static_cast<int>(BitsOf(abs_a) >> 52) - base;
    row = row < 0 ? 0 : row > ErrorSketch::kRows - 1 ? ErrorSketch::kRows - 1 : row;
    const double relative = abs_d / abs_a;
    counts = sketch->counts + row * int64_t{ErrorSketch::kBins};
    ++counts[SketchBin(BitsOf(relative), ErrorSketch::kFirstRelative)];
    counts += int64_t{ErrorSketch::kRows} * ErrorSketch::kBins;
    ++counts[SketchBin(BitsOf(abs_d), base * int64_t{16})];
    if (relative > sketch->most_relative[row]) sketch->most_relative[row] = relative;
  }
  sketch->touched[row] = true;
  if (abs_d > sketch->most[row]) sketch->most[row] = abs_d;
}

// `error` holds |b - a| of `n` elements from element `begin` of the tensor on.
inline void TakeLanes(const DifferPiece& piece, const double* error, int64_t begin, int64_t n,
                      DifferTally* tally) {
  double* lane = tally->lane;
  if (piece.row % kDifferLanes == 0 && n == kDifferBlock) {
    for (int64_t i = 0; i < n; i += kDifferLanes) {
      for (int j = 0; j < kDifferLanes; ++j) lane[j] = error[i + j] > lane[j] ? error[i + j] : lane[j];
    }
  } else {
    int64_t column = begin % piece.row;
    for (int64_t i = 0; i < n; ++i) {
      double& most = lane[column % kDifferLanes];
      if (error[i] > most) most = error[i];
      if (++column == piece.row) column = 0;
    }
  }
  double least = lane[0];
  const int lanes = piece.row < kDifferLanes ? static_cast<int>(piece.row) : kDifferLanes;
  for (int j = 1; j < lanes; ++j) least = lane[j] < least ? lane[j] : least;
  tally->lane_least = least;
}

inline void TakeTiles(const DifferPiece& piece, const double* error, int64_t begin, int64_t n, double most,
                      DifferTally* tally) {
  if (piece.tile % kDifferBlock == 0) {
    double& tile = tally->tile[begin / piece.tile];
    if (most > tile) tile = most;
    return;
  }
  for (int64_t i = 0; i < n; ++i) {
    double& tile = tally->tile[(begin + i) / piece.tile];
    if (error[i] > tile) tile = error[i];
  }
}

// Whether the largest error of a block leaves anything to look at its elements for.
inline bool NeedsElements(const DifferPiece& piece, double most, const DifferTally& tally) {
  return most > 0 && (most >= tally.max_abs || most > tally.lane_least || piece.tile % kDifferBlock != 0);
}

// Maxima of a block: worst element, lanes, tiles. `most` is the largest of `error`,
// which may be null where NeedsElements says no.
inline void TakeErrors(const DifferPiece& piece, const double* error, int64_t begin, int64_t n, double most,
                       DifferTally* tally) {
  if (!(most > 0)) return;
  // A worker's blocks come in any order: of equal errors the first in the tensor is the worst.
  if (most > tally->max_abs || (most == tally->max_abs && begin < tally->worst)) {
    int64_t i = 0;
    while (error[i] != most) ++i;
    tally->max_abs = most;
    tally->worst = begin + i;
  }
  if (most > tally->lane_least) TakeLanes(piece, error, begin, n, tally);
  TakeTiles(piece, error, begin, n, most, tally);
}

inline void TakeCanary(const std::byte* data, int64_t n, int bytes, uint64_t pattern, int64_t* count) {
  for (int64_t i = 0; i < n; ++i) {
    *count += __builtin_memcmp(data + i * bytes, &pattern, static_cast<size_t>(bytes)) == 0 ? 1 : 0;
  }
}

}  // namespace plinth::verify::PLINTH_KERNEL_LEVEL
