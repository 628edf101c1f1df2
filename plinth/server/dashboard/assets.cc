#include "plinth/server/dashboard/assets.h"

#include <algorithm>
#include <vector>

#include "plinth/base/digest.h"
#include "plinth/base/embedded.h"
#include "plinth/base/text.h"
#include "plinth/base/version.h"

PLINTH_EMBEDDED(dashboard_page)
PLINTH_EMBEDDED(dashboard_style)
PLINTH_EMBEDDED(dashboard_script)
PLINTH_EMBEDDED(dashboard_chart)
PLINTH_EMBEDDED(dashboard_strings)
PLINTH_EMBEDDED(dashboard_icon)
PLINTH_EMBEDDED(dashboard_dygraphs_script)
PLINTH_EMBEDDED(dashboard_dygraphs_style)
PLINTH_EMBEDDED(dashboard_dygraphs_licence)

namespace plinth::server {
namespace {

// A page without network must not ask for a source map.
std::string_view WithoutSourceMap(std::string_view text) {
  return text.substr(0, std::min(text.rfind("//# sourceMappingURL"), text.rfind("/*# sourceMappingURL")));
}

std::vector<Asset> Make() {
  const char* const script = "text/javascript; charset=utf-8";
  const char* const style = "text/css; charset=utf-8";
  std::vector<Asset> assets = {
      {"index.html", "text/html; charset=utf-8", dashboard_page(), {}},
      {"page.css", style, dashboard_style(), {}},
      {"page.js", script, dashboard_script(), {}},
      {"chart.js", script, dashboard_chart(), {}},
      {"strings.json", "application/json", dashboard_strings(), {}},
      {"icon.svg", "image/svg+xml", dashboard_icon(), {}},
      {"dygraph.js", script, WithoutSourceMap(dashboard_dygraphs_script()), {}},
      {"dygraph.css", style, WithoutSourceMap(dashboard_dygraphs_style()), {}},
      {"dygraph-licence.txt", "text/plain; charset=utf-8", dashboard_dygraphs_licence(), {}},
  };
  for (Asset& asset : assets) {
    Sha256 digest;
    digest.Update(asset.bytes);
    // Without the digest (a policy of the crypto library) a new version of the same length could look old.
    asset.etag = StrCat("\"", digest.Hex().value_or(StrCat(kVersion, "-", asset.bytes.size())), "\"");
  }
  return assets;
}

}  // namespace

std::span<const Asset> DashboardAssets() {
  static const std::vector<Asset> assets = Make();
  return assets;
}

const Asset* FindAsset(std::string_view name) {
  for (const Asset& asset : DashboardAssets()) {
    if (asset.name == name) return &asset;
  }
  return nullptr;
}

}  // namespace plinth::server
