// Declares the correlation sums behind lags.h, compiled once per instruction-set level.
#pragma once

#include <cstdint>

namespace plinth::series {

// Extra zeros that must follow every input array, and room that must follow every output array, because
// lags are computed in blocks of at most this many.
inline constexpr int64_t kLagPadding = 64;

// The sums over all pairs (s, s + lag) of a series of n steps, one entry per lag.
struct LagSums {
  double* product;  // sum of z[s] z[s + lag]
  double* behind;   // sum of z[s]^2 over the pairs
  double* ahead;    // sum of z[s + lag]^2 over the pairs
  double* pairs;    // number of pairs with both observed
};

// A series with gaps. z, its square and its mask hold n values, 0 in gaps, then kLagPadding zeros.
struct MaskedSeries {
  const double* z;
  const double* square;
  const double* mask;  // 1 where observed
  const int32_t* at;   // the observed places, ascending: a list, because a test per place mispredicts
  int64_t count;       // how many
  int64_t n;
};

// The kernels of one level. Every level adds in the same order and without fused multiply-add, so that all
// levels give the same bits.
struct LagKernels {
  // product[lag] for lags 0 .. lags - 1. z: n values, then kLagPadding zeros.
  void (*product)(const double* z, int64_t n, int64_t lags, double* product);
  // All four sums for a series with gaps.
  void (*masked)(const MaskedSeries& series, int64_t lags, const LagSums& sums);
  // r[lag] = product / sqrt(max(behind * ahead, 1e-9)), rounded to a multiple of 2^-30; -1 where fewer
  // than 24 pairs.
  void (*normalise)(const LagSums& sums, int64_t lags, double* r);
};

namespace v2 {
extern const LagKernels kLagKernels;
}
namespace v3 {
extern const LagKernels kLagKernels;
}
namespace v4 {
extern const LagKernels kLagKernels;
}

}  // namespace plinth::series
