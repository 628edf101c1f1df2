// Standardises a series with gaps: its mean, its spread, and the values measured in them.
#pragma once

#include <cstdint>
#include <span>

namespace plinth::series {

// Undoes or applies a standardisation: z = (y - loc) / scale.
struct Scale {
  double loc = 0;
  double scale = 1;
};

// Mean and population standard deviation of the finite values of y [n]; NaN and infinities are gaps.
// scale is 1 where the deviation is not above floor_relative * |loc|; loc is 0 where nothing is finite.
// Two passes with compensated sums, so that a level of 1e12 keeps the digits of a variation of 1; values
// whose squares would overflow or vanish are scaled by a power of two on the way, which is exact.
Scale MeanStd(std::span<const double> y, double floor_relative = 1e-12);

// z[i] = (y[i] - loc) / scale and observed[i] = 1 where y[i] is finite; both 0 in gaps. All of one length.
void Standardise(std::span<const double> y, const Scale& scale, std::span<double> z,
                 std::span<uint8_t> observed);

}  // namespace plinth::series
