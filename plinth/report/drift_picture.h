// Draws how far each layer is from the reference, over depth, on a logarithmic scale.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "plinth/report/acceptance_view.h"

namespace plinth {

// An SVG element with its own styles (colours from the page's variables); empty where no point has a number.
// A zero error stands on the lower edge. limit: relative L2; not positive: no line. first: the layer to mark,
// or empty.
std::string DriftPicture(const std::vector<AcceptanceView::DriftPoint>& points, double limit,
                         std::string_view first, Language language);

}  // namespace plinth
