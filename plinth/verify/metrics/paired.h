// Gives intervals and tests for paired samples: how far a difference that was seen can be chance.
#pragma once

#include <cstdint>
#include <span>
#include <utility>

namespace plinth::verify::metrics {

using Interval = std::pair<double, double>;

// Two-sided normal quantile of 95 %.
inline constexpr double kNormal95 = 1.959963984540054;

// Score interval of a share, `k` of `n` > 0 (Wilson 1927).
Interval WilsonInterval(double k, double n, double z = kNormal95);

// Score interval of (b - c) / n, the difference of two paired shares; b and c count the samples on which only
// the first or only the second is right (Tango 1998). It stays honest where nothing differs: b = c = 0 gives
// -+ z^2 / (n + z^2). Counts may be fractions (of a planned sample). n > 0.
Interval TangoInterval(double b, double c, double n, double z = kNormal95);

// McNemar's exact test: the two-sided binomial probability of a split of b + c at least as uneven as (b, c).
double McNemarExact(int64_t b, int64_t c);

// Quantile of Student's t distribution, 0 < p < 1, degrees of freedom >= 1.
double StudentQuantile(double p, double degrees);

// 95 % interval from bootstrap draws, sorted ascending and not empty, of a statistic of n samples: expanded
// percentiles, which make up for the bootstrap's narrowness on few samples (Hesterberg 2015).
Interval ExpandedPercentile(std::span<const double> draws, int64_t n);

}  // namespace plinth::verify::metrics
