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

// The kernels of one level. Every level adds in the same order and without fused multiply-add, so that all
// levels give the same bits.
struct LagKernels {
  // product[lag] for lags 0 .. lags - 1. z: n values, then kLagPadding zeros.
  void (*product)(const double* z, int64_t n, int64_t lags, double* product);
  // All four sums for a series with gaps. z and square (z^2) are 0 and mask is 0 in gaps, else mask is 1;
  // each n values, then kLagPadding zeros.
  void (*masked)(const double* z, const double* square, const double* mask, int64_t n, int64_t lags,
                 const LagSums& sums);
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
