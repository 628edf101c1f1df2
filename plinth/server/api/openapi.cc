// /v1/openapi.json: the description of every endpoint for programs.
#include "plinth/base/embedded.h"
#include "plinth/base/version.h"
#include "plinth/server/api/routes.h"

PLINTH_EMBEDDED(openapi_document)

namespace plinth::server {

std::vector<http::Route> OpenApiRoutes(Service&) {
  constexpr std::string_view kMark = "@VERSION@";
  std::string text(openapi_document());
  if (const size_t at = text.find(kMark); at != text.npos) text.replace(at, kMark.size(), kVersion);
  return {{"GET", "/v1/openapi.json", http::Scope::kPublic,
           [text](http::Request, const http::PathNames&, http::ExchangePtr x) { x->Send({.body = text}); }}};
}

}  // namespace plinth::server
