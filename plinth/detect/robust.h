// Order statistics that a few wild values cannot move.
#pragma once

#include <span>
#include <vector>

namespace plinth::detect {

// The q-quantile (0 to 1) of the finite values, linear between neighbours (type 7 of Hyndman and Fan 1996);
// NaN where there is none.
double Quantile(std::span<const double> values, double q);
inline double Median(std::span<const double> values) { return Quantile(values, 0.5); }

// Middle and spread of a column: `scale` is in its units and above 0.
struct Spread {
  double middle = 0;
  double scale = 1;
};

// Median and 1.4826 times the median absolute deviation of the finite values. Where more than half of them
// are equal the mean absolute deviation (times 1.2533, which is the same for a normal distribution) stands
// in; a constant has a scale of 1e-6 of its size, so that any departure from it is large yet finite.
Spread SpreadOf(std::span<const double> values);

}  // namespace plinth::detect
