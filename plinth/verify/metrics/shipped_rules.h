// Gives the rule files of cases/ that the program carries in itself.
#pragma once

#include <string_view>

namespace plinth::verify::metrics {

std::string_view ShippedAsrRules();
std::string_view ShippedGenerationRules();

}  // namespace plinth::verify::metrics
