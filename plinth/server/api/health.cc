// /v2, /v2/health/live, /v2/health/ready: whether the service answers and takes work (Open Inference
// Protocol).
#include "plinth/base/version.h"
#include "plinth/formats/json_writer.h"
#include "plinth/server/api/routes.h"
#include "plinth/server/service.h"

namespace plinth::server {
namespace {

using http::ExchangePtr;
using http::PathNames;
using http::Request;
using http::Response;
using http::Scope;

Response Metadata() {
  Response response;
  formats::JsonWriter w(&response.body);
  w.BeginObject();
  w.Key("name"), w.String("plinth");
  w.Key("version"), w.String(kVersion);
  w.Key("extensions"), w.BeginArray(), w.String("binary_tensor_data"), w.EndArray();
  w.EndObject();
  w.EndLine();
  return response;
}

Response Ready(const Service& service) {
  const Service::Readiness r = service.readiness();
  Response response;
  response.status = r.ready ? 200 : 503;
  formats::JsonWriter w(&response.body);
  w.BeginObject();
  w.Key("ready"), w.Bool(r.ready);
  w.Key("reasons"), w.BeginArray();
  for (const std::string& reason : r.reasons) w.String(reason);
  w.EndArray();
  w.EndObject();
  w.EndLine();
  return response;
}

}  // namespace

std::vector<http::Route> HealthRoutes(Service& service) {
  return {
      {"GET", "/v2", Scope::kPublic, [](Request, const PathNames&, ExchangePtr x) { x->Send(Metadata()); }},
      {"GET", "/v2/health/live", Scope::kPublic,
       [](Request, const PathNames&, ExchangePtr x) { x->Send({.body = "{\"live\":true}\n"}); }},
      {"GET", "/v2/health/ready", Scope::kPublic,
       [&service](Request, const PathNames&, ExchangePtr x) { x->Send(Ready(service)); }},
  };
}

}  // namespace plinth::server
