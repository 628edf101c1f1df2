#include "plinth/series/lag_kernel.h"

namespace plinth::series::PLINTH_KERNEL_LEVEL {
namespace {

#if defined(__AVX512F__)
constexpr int kBytes = 64;
constexpr int kFew = 4;  // registers for each of the four sums of Masked: half of those there are
#elif defined(__AVX2__)
constexpr int kBytes = 32;
constexpr int kFew = 2;
#else
constexpr int kBytes = 16;
constexpr int kFew = 2;
#endif
constexpr int kLanes = kBytes / 8;
using Lanes = double __attribute__((vector_size(kBytes)));
using LooseLanes = double __attribute__((vector_size(kBytes), aligned(8), may_alias));

inline Lanes Load(const double* p) { return *reinterpret_cast<const LooseLanes*>(p); }
inline void Store(double* p, Lanes v) { *reinterpret_cast<LooseLanes*>(p) = v; }

// Neighbouring lags lie in the lanes of kVectors registers: one broadcast z[s] meets z[s + lag ...], so
// each lag adds its pairs in the order of s whatever the register width.
constexpr int kVectors = 8;
constexpr int kBlock = kVectors * kLanes;
static_assert(kBlock <= kLagPadding);

void Product(const double* z, int64_t n, int64_t lags, double* product) {
  for (int64_t lag = 0; lag < lags; lag += kBlock) {
    Lanes sum[kVectors] = {};
    for (int64_t s = 0; s < n - lag; ++s) {
      const double left = z[s];
      const double* right = z + s + lag;
      for (int v = 0; v < kVectors; ++v) sum[v] += left * Load(right + v * kLanes);
    }
    for (int v = 0; v < kVectors; ++v) Store(product + lag + v * kLanes, sum[v]);
  }
}

void Masked(const MaskedSeries& x, int64_t lags, const LagSums& sums) {
  int64_t count = x.count;
  for (int64_t lag = 0; lag < lags; lag += kFew * kLanes) {
    Lanes product[kFew] = {}, behind[kFew] = {}, ahead[kFew] = {}, pairs[kFew] = {};
    while (count > 0 && x.at[count - 1] >= x.n - lag) --count;
    for (int64_t i = 0; i < count; ++i) {
      const int64_t s = x.at[i];
      for (int v = 0; v < kFew; ++v) {
        const int64_t t = s + lag + v * kLanes;
        const Lanes both = Load(x.mask + t);
        product[v] += x.z[s] * Load(x.z + t);
        behind[v] += x.square[s] * both;
        ahead[v] += Load(x.square + t);
        pairs[v] += both;
      }
    }
    for (int v = 0; v < kFew; ++v) {
      const int64_t out = lag + v * kLanes;
      Store(sums.product + out, product[v]);
      Store(sums.behind + out, behind[v]);
      Store(sums.ahead + out, ahead[v]);
      Store(sums.pairs + out, pairs[v]);
    }
  }
}

void Normalise(const LagSums& sums, int64_t lags, double* __restrict r) {
  const double kMagic = 0x1.8p52;  // adding it rounds to an integer, ties to even
  const double *product = sums.product, *behind = sums.behind, *ahead = sums.ahead, *pairs = sums.pairs;
#pragma omp simd
  for (int64_t lag = 0; lag < lags; ++lag) {
    const double energy = behind[lag] * ahead[lag];
    const double raw = product[lag] / __builtin_sqrt(energy > 1e-9 ? energy : 1e-9);
    const double rounded = ((raw * 0x1p30 + kMagic) - kMagic) * 0x1p-30;
    r[lag] = pairs[lag] >= 24 ? rounded : -1.0;
  }
}

}  // namespace

const LagKernels kLagKernels = {Product, Masked, Normalise};

}  // namespace plinth::series::PLINTH_KERNEL_LEVEL
