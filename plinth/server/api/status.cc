// /v1/status, /v1/recent, /v1/events: what a person sees of the service (docs/dashboard.md).
#include <charconv>

#include "plinth/formats/json_writer.h"
#include "plinth/server/api/routes.h"
#include "plinth/server/service.h"
#include "plinth/server/status_document.h"

namespace plinth::server {
namespace {

using http::ExchangePtr;
using http::PathNames;
using http::Request;
using http::Response;
using http::Scope;

// What stands now is of no use to a cache.
Response Fresh(std::string body) {
  return {.status = 200,
          .content_type = "application/json",
          .body = std::move(body),
          .fields = {{"cache-control", "no-store"}}};
}

Response Recent(Service& service, const std::string& id) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(id.data(), id.data() + id.size(), number);
  std::string body;
  formats::JsonWriter w(&body);
  if (error != std::errc() || end != id.data() + id.size() || !service.recent().WriteSeries(number, w))
    return http::ErrorResponse(404, "not_found", "no series of that number was forecast lately");
  w.EndLine();
  return Fresh(std::move(body));
}

Response RecentList(Service& service) {
  std::string body;
  formats::JsonWriter w(&body);
  w.BeginObject();
  w.Key("forecasts"), service.recent().WriteList(w);
  w.EndObject();
  w.EndLine();
  return Fresh(std::move(body));
}

}  // namespace

std::vector<http::Route> StatusRoutes(Service& service) {
  return {
      {"GET", "/v1/status", Scope::kRead,
       [&service](Request, const PathNames&, ExchangePtr x) { x->Send(Fresh(StatusDocument(service))); }},
      {"GET", "/v1/recent", Scope::kRead,
       [&service](Request, const PathNames&, ExchangePtr x) { x->Send(RecentList(service)); }},
      {"GET", "/v1/recent/{series}", Scope::kRead,
       [&service](Request, const PathNames& names, ExchangePtr x) { x->Send(Recent(service, names[0])); }},
      {"GET", "/v1/events", Scope::kRead,
       [&service](Request, const PathNames&, ExchangePtr x) { service.events().Serve(x); }},
  };
}

}  // namespace plinth::server
