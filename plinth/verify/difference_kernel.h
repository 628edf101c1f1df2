// Declares the pass over a piece of two tensors behind difference.h, compiled once per instruction-set level.
#pragma once

#include <cstddef>
#include <cstdint>

#include "plinth/verify/element.h"

namespace plinth::verify {

// Elements looked at together: what is kept of them stays in the first-level cache.
inline constexpr int64_t kDifferBlock = 512;
inline constexpr int kDifferLanes = 64;
inline constexpr int kDifferTiles = 64;
inline constexpr int kUlpBins = 16;

// Errors by magnitude of a (rows: a power of two each), both relative to a and as they are (bins, 16 per
// power of two), so that the floor, known only after the pass, can still be applied: it is a power of two,
// and rows below it are read as they are. One row more holds |b - a| where a is zero.
struct ErrorSketch {
  static constexpr int kRows = 288, kZeroBins = 32768;
  static constexpr int kBins =
      16 * kRows;                       // relative errors from 2^-144 to 2^144, errors over the rows' range
  static constexpr int kBinShift = 48;  // bits of a double below exponent and 4 bits of fraction
  static constexpr int64_t kFirstRelative = (1023 - 144) * 16;
  static constexpr int64_t kCounts = 2 * int64_t{kRows} * kBins + kZeroBins;
  // [kRows][kBins] of relative errors, [kRows][kBins] of errors, [kZeroBins].
  uint64_t* counts;
  bool touched[kRows + 1];
  double most_relative[kRows];  // largest |b - a| / |a| of each row
  double most[kRows + 1];       // largest |b - a|
};

struct SideTally {
  int64_t nan, pos_inf, neg_inf, zero, subnormal, canary;
  double min, max;
};

// What does not depend on the order of pieces: counts and maxima. One per worker.
struct DifferTally {
  SideTally a, b;
  int64_t finite, nan_mismatch, inf_mismatch, first_mismatch, zero_sign, unequal, positive, negative, outside;
  double max_abs;
  int64_t worst;
  double max_ulp;
  int64_t ulp[kUlpBins];
  double lane[kDifferLanes];
  double lane_least;  // the smallest of lane: a block whose largest error is not above it changes nothing
  double tile[kDifferTiles];
  ErrorSketch sketch;
};

// What does: sums of a piece.
struct DifferSums {
  double a, d, aa, bb, ab, dd;
};

struct DifferPiece {
  const std::byte* a;
  const std::byte* b;
  Element element_a, element_b, unit_element;
  int64_t begin, count;  // of the whole tensor's elements; begin is a multiple of kDifferBlock
  int64_t row;           // length of the last dimension
  int64_t tile;          // elements of a tile
  double record_above;   // relative errors up to this need not be recorded
  int sketch_base;       // exponent of the sketch's first row
  double scale;          // a power of two; f64 values are multiplied by it, lest squares overflow
  bool check_close;
  double atol, rtol;
  bool check_canary;
  uint64_t canary;
};

using DifferFn = void(const DifferPiece& piece, DifferSums* sums, DifferTally* tally);

namespace v2 {
DifferFn DifferOnePiece;
}
namespace v3 {
DifferFn DifferOnePiece;
}
namespace v4 {
DifferFn DifferOnePiece;
}

}  // namespace plinth::verify
