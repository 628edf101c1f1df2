// Scores of whole windows of one column: how far they lie from the shapes that are normal for it.
#pragma once

#include <cstdint>
#include <vector>

#include "plinth/base/status.h"
#include "plinth/detect/column.h"

namespace plinth::detect {

// How windows look at rows and rows at windows.
struct WindowPlan {
  int64_t length = 0;  // rows of a window, at least 2
  int64_t learn = 0;   // windows that end before this row say what is normal
  bool causal =
      false;  // a row gets the score of the window that ends with it; else the mean of all that hold it
};

// Spreads the scores of windows [rows - length + 1] over rows; NaN for windows that are not scored and for
// rows without a scored window.
std::vector<double> ToRows(const std::vector<double>& windows, int64_t rows, const WindowPlan& plan);

// Sub-PCA: windows, averaged down to at most 32 numbers, against the subspace of the normal ones
// (subspace.h); the root of the distance. Of the windows to learn from, each half is scored by the subspace
// of the other half (half a window apart, where they are long enough): a fit flatters what it was fitted to,
// and thresholds are set on these scores. At most kMostSamples windows, evenly spaced, are fitted. Windows
// with more than a quarter of gaps are not scored.
inline constexpr int64_t kMostSamples = 8192;
std::vector<double> SubPcaScore(const Column& column, const WindowPlan& plan);

// Matrix profile (Yeh et al. 2016) in the column's own spread: the distance of each window, its mean taken
// off, to the nearest other one, as a root mean square. Unlike z-normalised distance this does not blow noise
// up where a column rests. Others overlap by at most half and lie at most `reach` rows away; a causal plan
// looks back only. Diagonal by diagonal in double, O(rows * reach) (STOMP; Zhu et al. 2016).
std::vector<double> ProfileScore(const Column& column, const WindowPlan& plan, int64_t reach);

}  // namespace plinth::detect
