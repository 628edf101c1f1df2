// Scores of whole windows of one column: how far they lie from the shapes that are normal for it.
#pragma once

#include <cstdint>
#include <vector>

#include "plinth/base/status.h"
#include "plinth/detect/column.h"
#include "plinth/detect/subspace.h"

namespace plinth::detect {

// How windows look at rows and rows at windows.
struct WindowPlan {
  int64_t length = 0;  // rows of a window, at least 2
  int64_t learn = 0;   // windows that end before this row say what is normal
  // A row gets the score of the window that ends with it, of which the last kStreamOpen rows count as they
  // are; else the mean of all that hold it.
  bool causal = false;
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

// What is normal for the shapes of a stream: the subspace of all windows of `normal`.
Subspace FitShapes(const Column& normal, int64_t length);
// Scores of the windows that end with the rows [from, rows); NaN for other rows, and where SubPcaScore has
// it.
std::vector<double> ShapeScores(const Column& column, int64_t length, const Subspace& shapes, int64_t from);

// Matrix profile (Yeh et al. 2016) in the column's own spread: the distance of each window, its mean taken
// off, to the nearest other one, as a root mean square. Unlike z-normalised distance this does not blow noise
// up where a column rests. Others overlap by at most half and lie at most `reach` rows away. Diagonal by
// diagonal in double, O(rows * reach) (STOMP; Zhu et al. 2016). Of streams: ProfileReference.
std::vector<double> ProfileScore(const Column& column, const WindowPlan& plan, int64_t reach);

// The last `most` windows of a column of normal operation, for the same distance from other rows. Walks along
// the diagonals from rows whose number is a multiple of kAnchor, so that a row's bits do not depend on which
// others are scored with it, nor on rows that lie more than length + kAnchor before it.
class ProfileReference {
 public:
  static constexpr int64_t kAnchor = 64;
  ProfileReference() = default;
  ProfileReference(const Column& normal, int64_t length, int64_t most);
  // Scores of the windows that end with the rows [from, rows) of `column`, their last kStreamOpen rows as
  // they are; NaN for other rows. The column's first row is row `base` of the series whose first rows
  // `normal` was; windows that overlap by more than half are not compared.
  std::vector<double> Scores(const Column& column, int64_t base, int64_t from) const;

 private:
  void Walk(const Column& column, size_t row, bool anew, std::vector<double>* products) const;

  int64_t length_ = 0, first_ = 0;  // `first_`: the row where the first window begins
  std::vector<double> z_;
  std::vector<double> mean_, squares_;  // by window
};

}  // namespace plinth::detect
