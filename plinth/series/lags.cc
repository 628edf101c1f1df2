#include "plinth/series/lags.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "plinth/base/check.h"
#include "plinth/series/lag_kernel.h"

namespace plinth::series {
namespace {

constexpr int64_t kFewestPairs = 24;
constexpr double kLowestPeak = 0.1;

const LagKernels& KernelsFor(Isa isa) {
  switch (isa) {
    case Isa::kV4:
      return v4::kLagKernels;
    case Isa::kV3:
      return v3::kLagKernels;
    case Isa::kV2:
      break;
  }
  return v2::kLagKernels;
}

// Cuts the workspace into arrays of one length.
struct Arrays {
  double* z;
  double* square;
  double* mask;
  int32_t* at;
  LagSums sums;
  double* r;
};

Arrays Carve(LagWorkspace& workspace, int64_t n) {
  const size_t each = static_cast<size_t>(n + kLagPadding);
  if (workspace.numbers.size() < 8 * each) workspace.numbers.resize(8 * each);
  if (workspace.peaks.capacity() < static_cast<size_t>(n)) workspace.peaks.reserve(static_cast<size_t>(n));
  if (workspace.places.size() < each) workspace.places.resize(each);
  double* p = workspace.numbers.data();
  const auto take = [&p, each] { return std::exchange(p, p + each); };
  Arrays a;
  a.z = take();
  a.square = take();
  a.mask = take();
  a.at = workspace.places.data();
  a.sums = {take(), take(), take(), take()};
  a.r = take();
  return a;
}

// Without gaps the sums of squares and the counts follow from running sums, forwards and backwards (and
// not by subtraction, which would lose digits where few values carry all the energy).
void RunningSums(const double* z, int64_t n, int64_t lags, const LagSums& sums) {
  double sum = 0;
  for (int64_t s = 0; s < n; ++s) {
    sum += z[s] * z[s];
    if (n - 1 - s < lags) sums.behind[n - 1 - s] = sum;
  }
  sum = 0;
  for (int64_t s = n - 1; s >= 0; --s) {
    sum += z[s] * z[s];
    if (s < lags) sums.ahead[s] = sum;
  }
  for (int64_t lag = 0; lag < lags; ++lag) sums.pairs[lag] = static_cast<double>(n - lag);
}

// Fills a.r for lags 0 .. lags - 1 of the observed stretch z [n].
void Correlate(std::span<const double> z, std::span<const uint8_t> observed, int64_t lags,
               const LagKernels& kernels, const Arrays& a) {
  const int64_t n = static_cast<int64_t>(z.size());
  std::copy(z.begin(), z.end(), a.z);
  std::fill(a.z + n, a.z + n + kLagPadding, 0.0);
  if (std::find(observed.begin(), observed.end(), 0) == observed.end()) {
    kernels.product(a.z, n, lags, a.sums.product);
    RunningSums(a.z, n, lags, a.sums);
  } else {
    int64_t count = 0;
    for (int64_t i = 0; i < n; ++i) {
      a.square[i] = z[i] * z[i];
      a.mask[i] = observed[i] ? 1.0 : 0.0;
      a.at[count] = static_cast<int32_t>(i);
      count += observed[i] ? 1 : 0;
    }
    std::fill(a.square + n, a.square + n + kLagPadding, 0.0);
    std::fill(a.mask + n, a.mask + n + kLagPadding, 0.0);
    kernels.masked({a.z, a.square, a.mask, a.at, count, n}, lags, a.sums);
  }
  kernels.normalise(a.sums, lags, a.r);
  a.r[0] = -1;
  if (lags > 1) a.r[1] = -1;
  a.r[lags] = -1;  // fewer than kFewestPairs pairs
}

void CollectPeaks(const double* r, int64_t lags, std::vector<LagWorkspace::Peak>& peaks) {
  peaks.clear();
  for (int64_t lag = 2; lag < lags; ++lag) {
    if (!(r[lag] > kLowestPeak && r[lag] > r[lag - 1] && r[lag] >= r[lag + 1])) continue;
    peaks.push_back({{lag, r[lag]}, r[lag] - 0.05 * std::log2(static_cast<double>(lag)) / 9});
  }
}

}  // namespace

void StrongestLags(std::span<const double> z, std::span<const uint8_t> observed, Isa isa,
                   LagWorkspace& workspace, std::span<Lag> out) {
  PLINTH_CHECK_EQ(z.size(), observed.size());
  std::fill(out.begin(), out.end(), Lag{});
  const auto first = std::find_if(observed.begin(), observed.end(), [](uint8_t o) { return o != 0; });
  const auto last = std::find_if(observed.rbegin(), observed.rend(), [](uint8_t o) { return o != 0; });
  if (first == observed.end()) return;
  const size_t begin = static_cast<size_t>(first - observed.begin());
  const size_t length = static_cast<size_t>(last.base() - first);
  const int64_t lags = static_cast<int64_t>(length) - kFewestPairs + 1;
  if (lags <= 2) return;
  const Arrays a = Carve(workspace, static_cast<int64_t>(length));
  Correlate(z.subspan(begin, length), observed.subspan(begin, length), lags, KernelsFor(isa), a);
  CollectPeaks(a.r, lags, workspace.peaks);
  for (Lag& chosen : out) {
    const auto best = std::max_element(workspace.peaks.begin(), workspace.peaks.end(),
                                       [](const auto& p, const auto& q) { return p.score < q.score; });
    if (best == workspace.peaks.end()) return;
    chosen = best->lag;
    const int64_t reach = std::max<int64_t>(2, chosen.lag / 16);
    std::erase_if(workspace.peaks, [&](const auto& p) { return std::abs(p.lag.lag - chosen.lag) <= reach; });
  }
}

}  // namespace plinth::series
