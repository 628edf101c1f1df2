// Finds the seasonal lags of a series: the strongest peaks of its autocorrelation.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plinth/base/cpu.h"

namespace plinth::series {

// A lag in steps and the correlation of the series with itself that many steps ago; 0 and 0 for "none".
struct Lag {
  int64_t lag = 0;
  double r = 0;
  friend bool operator==(const Lag&, const Lag&) = default;
};

// Memory of StrongestLags; grows to the longest series seen and is then never reallocated. One per thread.
struct LagWorkspace {
  struct Peak {
    Lag lag;
    double score = 0;
  };
  std::vector<double> numbers;
  std::vector<int32_t> places;
  std::vector<Peak> peaks;
};

// The out.size() strongest lags of z [n], best first, as plinth-ts defines them (docs/models.md):
// with both ends of a pair observed, r(l) = sum z[t] z[t-l] / sqrt(max(sum z[t]^2 * sum z[t-l]^2, 1e-9)),
// rounded to multiples of 2^-30 so that the last bits of a sum never decide a tie; -1 for l < 2 and where
// fewer than 24 pairs exist. A peak has r > 0.1, r above its left and not below its right neighbour; its
// score is r - 0.05 log2(l) / 9. Each choice removes the lags within max(2, l / 16) of it; of equal scores
// the shorter lag wins.
// z: finite, standardised, 0 in gaps. observed: 1 or 0, of the same length. Every isa gives the same bits.
// Work: n^2 / 2 multiplications without gaps, four times that many with gaps inside; about 10 and 25
// microseconds at 512 steps with AVX-512. It stays direct for every length: 16,384 steps take some 10 ms.
void StrongestLags(std::span<const double> z, std::span<const uint8_t> observed, Isa isa,
                   LagWorkspace& workspace, std::span<Lag> out);

}  // namespace plinth::series
