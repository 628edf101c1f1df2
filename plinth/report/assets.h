// Gives the files that are embedded in the program for HTML pages.
#pragma once

#include <string_view>

namespace plinth {

// dygraphs 2 from the distribution's package (MIT licence), without the comment that names a source map.
std::string_view DygraphsScript();
std::string_view DygraphsStyle();
std::string_view DygraphsLicence();

// The report's own page: its frame with {{name}} for what is filled in, its style and its script.
std::string_view PageFrame();
std::string_view PageStyle();
std::string_view PageScript();
// What the page of an acceptance adds to PageStyle.
std::string_view AcceptanceStyle();

}  // namespace plinth
