// Joins what columns and scores say about a row into one number.
#pragma once

#include <span>
#include <vector>

#include "plinth/detect/alarms.h"

namespace plinth::detect {

// By row the mean of the largest quarter of the columns' surprises (at least one), less the surprise of
// finding such among so many (Bonferroni). NaN counts nowhere. Another tail fit would bound what one column
// can say.
std::vector<double> LargestOf(const std::vector<std::vector<double>>& surprises);

// What a score says about each column, as surprises, and about the row.
Findings::OfScore JoinColumns(Score score, std::vector<std::vector<double>> surprises);

// The larger one of two: the weighted quadratic mean of the surprises of windows and levels, and a part of
// the residual's. Forecasts are off by chance in single rows all the time; averaged in they would be noise,
// but a row that is far off counts by itself. Weights and the part did best on the files of part "tune" in
// bench/detect/files.json.
void Fuse(Findings* findings);

}  // namespace plinth::detect
