#include "plinth/report/assets.h"

#include <algorithm>

#include "plinth/base/embedded.h"

PLINTH_EMBEDDED(dygraphs_script)
PLINTH_EMBEDDED(dygraphs_style)
PLINTH_EMBEDDED(dygraphs_licence)
PLINTH_EMBEDDED(page_frame)
PLINTH_EMBEDDED(page_style)
PLINTH_EMBEDDED(page_script)
PLINTH_EMBEDDED(acceptance_style)

namespace plinth {
namespace {

// A page without network must not ask for a source map.
std::string_view WithoutSourceMap(std::string_view text) {
  const size_t comment = std::min(text.rfind("//# sourceMappingURL"), text.rfind("/*# sourceMappingURL"));
  return text.substr(0, comment);
}

}  // namespace

std::string_view DygraphsScript() { return WithoutSourceMap(dygraphs_script()); }
std::string_view DygraphsStyle() { return WithoutSourceMap(dygraphs_style()); }
std::string_view DygraphsLicence() { return dygraphs_licence(); }
std::string_view PageFrame() { return page_frame(); }
std::string_view PageStyle() { return page_style(); }
std::string_view PageScript() { return page_script(); }
std::string_view AcceptanceStyle() { return acceptance_style(); }

}  // namespace plinth
