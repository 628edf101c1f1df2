// /v1/config and /metrics: what the service was told, and what it has done.
#include "plinth/server/api/routes.h"
#include "plinth/server/service.h"

namespace plinth::server {

using http::ExchangePtr;
using http::PathNames;
using http::Request;
using http::Scope;

std::vector<http::Route> ConfigRoutes(Service& service) {
  return {
      {"GET", "/v1/config", Scope::kAdmin,
       [&service](Request, const PathNames&, ExchangePtr x) {
         x->Send({.content_type = "application/toml", .body = ToToml(*service.settings())});
       }},
      {"GET", "/metrics", Scope::kRead,
       [&service](Request, const PathNames&, ExchangePtr x) {
         x->Send({.content_type = "text/plain; version=0.0.4; charset=utf-8",
                  .body = service.metrics().Text(service)});
       }},
  };
}

}  // namespace plinth::server
