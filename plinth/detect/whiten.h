// Takes off a column what its own past explains.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plinth/detect/column.h"

namespace plinth::detect {

// What is left of a column's last `rows` rows: [rows], 0 where the value or the one before it is a gap.
struct White {
  std::vector<double> scores;  // normal scores of the innovations; mean 0 and variance 1 over the known ones
  double known = 0;            // share of rows that are
  bool silent = true;          // nothing varies
};

White Whiten(const Column& column, int64_t rows);

// Coefficients of an autoregression of x (mean about 0): x[t] = sum of a[k] x[t - 1 - k] and noise. Levinson
// and Durbin on the biased autocovariances, which always gives a stable one; the order up to `most` with the
// least AIC.
std::vector<double> Autoregression(std::span<const double> x, int64_t most);

}  // namespace plinth::detect
