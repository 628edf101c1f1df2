// Cuts context windows out of a series.
#pragma once

#include <span>

namespace plinth::series {

// Copies the last window.size() values of y into window; a shorter y ends at the window's end, and the
// places before it become NaN (gaps).
void LastWindow(std::span<const double> y, std::span<double> window);

}  // namespace plinth::series
