// Brings the visible keys and values of a sequence together as the register tiles of attention read them.
#pragma once

#include <cstdint>

#include "plinth/ops/attention/lanes.h"
#include "plinth/ops/attention/tile.h"

namespace plinth::ops::PLINTH_KERNEL_LEVEL {

// Columns d .. d + 3 of every fourth row from `first` on, side by side.
PLINTH_TILE Vec LoadFours(const float* const (&row)[kLanes], int first, int64_t d) {
  FourFloats x[kLanes / 4];
#pragma GCC unroll 4
  for (int i = 0; i < kLanes / 4; ++i) x[i] = *reinterpret_cast<const FourAnywhere*>(row[first + 4 * i] + d);
#if defined(__AVX512F__)
  const auto low = __builtin_shufflevector(x[0], x[1], 0, 1, 2, 3, 4, 5, 6, 7);
  const auto high = __builtin_shufflevector(x[2], x[3], 0, 1, 2, 3, 4, 5, 6, 7);
  return __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
#elif defined(__AVX2__)
  return __builtin_shufflevector(x[0], x[1], 0, 1, 2, 3, 4, 5, 6, 7);
#else
  return x[0];
#endif
}

// Within every four lanes: lanes {0, 1} of a and b by turns (Half 0), or lanes {2, 3} (Half 1).
template <int Half>
PLINTH_TILE Vec TakeTurns(Vec a, Vec b) {
  return PickLanes(a, b, [](int j) { return j / 4 * 4 + 2 * Half + j % 4 / 2 + j % 2 * kLanes; });
}
// Within every four lanes: the pair `Half` of a, then that of b.
template <int Half>
PLINTH_TILE Vec JoinPairs(Vec a, Vec b) {
  return PickLanes(a, b, [](int j) { return j / 4 * 4 + 2 * Half + j % 2 + j % 4 / 2 * kLanes; });
}

// Writes columns [0, dim) of kLanes key rows as one vector of each row of a panel, whose rows are `width`
// floats long. Method: blocks of 4 x 4 are transposed side by side; loading them in place saves half of the
// shuffles that whole vectors would need.
static inline void PackVectorOfKeys(const float* const (&row)[kLanes], int64_t dim, int64_t width,
                                    float* to) {
  int64_t d = 0;
  for (; d + 4 <= dim; d += 4) {
    const Vec a = LoadFours(row, 0, d), b = LoadFours(row, 1, d), c = LoadFours(row, 2, d),
              e = LoadFours(row, 3, d);
    const Vec ab_low = TakeTurns<0>(a, b), ab_high = TakeTurns<1>(a, b);
    const Vec ce_low = TakeTurns<0>(c, e), ce_high = TakeTurns<1>(c, e);
    StoreVec(to + d * width, JoinPairs<0>(ab_low, ce_low));
    StoreVec(to + (d + 1) * width, JoinPairs<1>(ab_low, ce_low));
    StoreVec(to + (d + 2) * width, JoinPairs<0>(ab_high, ce_high));
    StoreVec(to + (d + 3) * width, JoinPairs<1>(ab_high, ce_high));
  }
  for (; d < dim; ++d) {
    for (int i = 0; i < kLanes; ++i) to[d * width + i] = row[i][d];
  }
}

// Packs `count` keys, row index[i] of k each, into panels of kScoreVectors vectors, the last one as
// narrow as it can be. Lanes behind the last key repeat it; their scores are never used.
static inline void PackKeys(const float* k, int64_t stride, const int32_t* index, int64_t count, int64_t dim,
                            float* to) {
  const int64_t padded = LaneCeil(count);
  for (int64_t start = 0; start < padded; start += kScoreVectors * kLanes) {
    const int64_t width = padded - start < kScoreVectors * kLanes ? padded - start : kScoreVectors * kLanes;
    for (int64_t j = 0; j < width; j += kLanes) {
      const float* row[kLanes];
      for (int64_t i = 0; i < kLanes; ++i) {
        const int64_t key = start + j + i < count ? start + j + i : count - 1;
        row[i] = k + index[key] * stride;
      }
      PackVectorOfKeys(row, dim, width, to + j);
    }
    to += width * dim;
  }
}

// Packs rows index[i] of v, zeros behind column `dim`.
static inline void PackValues(const float* v, int64_t stride, const int32_t* index, int64_t count,
                              int64_t dim, float* to) {
  const int64_t width = LaneCeil(dim);
  for (int64_t i = 0; i < count; ++i) {
    const float* from = v + index[i] * stride;
    int64_t e = 0;
    for (; e + kLanes <= dim; e += kLanes) StoreVec(to + e, LoadVec(from + e));
    for (; e < dim; ++e) to[e] = from[e];
    for (; e < width; ++e) to[e] = 0;
    to += width;
  }
}

}  // namespace plinth::ops::PLINTH_KERNEL_LEVEL
