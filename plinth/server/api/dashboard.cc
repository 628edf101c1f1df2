// /, /assets: the dashboard, a static page that asks the other endpoints.
#include "plinth/server/api/routes.h"
#include "plinth/server/dashboard/assets.h"
#include "plinth/server/service.h"

namespace plinth::server {
namespace {

using http::ExchangePtr;
using http::PathNames;
using http::Request;
using http::Response;
using http::Scope;

// Nothing but the page's own files runs, nothing is asked of other hosts, and no other page frames it.
constexpr char kPolicy[] =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

// Whether the client has it already; a list of tags may be given (RFC 9110, section 13.1.2).
bool Has(const Request& request, const std::string& etag) {
  const std::string_view tags = request.Field("if-none-match");
  return tags == "*" || tags.find(etag) != tags.npos;
}

Response Serve(const Request& request, std::string_view name) {
  const Asset* asset = FindAsset(name);
  if (asset == nullptr) return http::ErrorResponse(404, "no_such_path", "there is no such file");
  Response response;
  response.fields = {{"etag", asset->etag},
                     {"cache-control", "no-cache"},  // kept, but asked about: a new version shows at once
                     {"content-security-policy", kPolicy},
                     {"x-content-type-options", "nosniff"},
                     {"x-frame-options", "DENY"},
                     {"referrer-policy", "no-referrer"},
                     {"cross-origin-opener-policy", "same-origin"},
                     {"cross-origin-resource-policy", "same-origin"}};
  if (Has(request, asset->etag)) {
    response.status = 304;
    return response;
  }
  response.content_type = asset->content_type;
  response.body = std::string(asset->bytes);
  return response;
}

}  // namespace

std::vector<http::Route> DashboardRoutes(Service& service) {
  if (!service.settings()->dashboard) return {};
  const auto one = [](const char* pattern, const char* name) -> http::Route {
    return {"GET", pattern, Scope::kPublic,
            [name](Request request, const PathNames&, ExchangePtr x) { x->Send(Serve(request, name)); }};
  };
  return {
      one("/", "index.html"),
      one("/favicon.ico", "icon.svg"),
      {"GET", "/assets/{file}", Scope::kPublic,
       [](Request request, const PathNames& names, ExchangePtr x) { x->Send(Serve(request, names[0])); }}};
}

}  // namespace plinth::server
