// /v2/models: metadata, readiness and inference of the Open Inference Protocol
// (docs/open-inference-protocol.md); /v2 and /v2/health are in health.cc.
#include "plinth/base/text.h"
#include "plinth/formats/json_writer.h"
#include "plinth/server/api/routes.h"
#include "plinth/server/oip/infer.h"
#include "plinth/server/oip/json_infer.h"
#include "plinth/server/service.h"

namespace plinth::server {
namespace {

using http::ExchangePtr;
using http::PathNames;
using http::Request;
using http::Response;
using http::Scope;

// {model} or {model}, {version}.
StatusOr<ModelPtr> ModelOf(const Service& service, const PathNames& names) {
  return oip::FindModel(service, names[0], names.size() > 1 ? names[1] : std::string());
}

void WriteSpecs(std::span<const oip::TensorSpec> specs, formats::JsonWriter& w) {
  w.BeginArray();
  for (const oip::TensorSpec& spec : specs) {
    w.BeginObject();
    w.Key("name"), w.String(spec.name);
    w.Key("datatype"), w.String(oip::DatatypeName(spec.datatypes[0]));
    w.Key("shape"), w.BeginArray();
    for (const int64_t extent : spec.shape) w.Int(extent);
    w.EndArray();
    w.EndObject();
  }
  w.EndArray();
}

Response Metadata(const ServedModel& model) {
  Response response;
  formats::JsonWriter w(&response.body);
  w.BeginObject();
  w.Key("name"), w.String(model.name());
  w.Key("versions"), w.BeginArray(), w.String(oip::kVersionName), w.EndArray();
  w.Key("platform"), w.String(oip::kPlatform);
  w.Key("inputs"), WriteSpecs(oip::InputSpecs(), w);
  w.Key("outputs"), WriteSpecs(oip::OutputSpecs(), w);
  w.EndObject();
  w.EndLine();
  return response;
}

Response Ready(const Service& service, const ServedModel& model) {
  const Service::Readiness readiness = service.readiness();
  Response response;
  response.status = readiness.ready ? 200 : 503;
  formats::JsonWriter w(&response.body);
  w.BeginObject();
  w.Key("name"), w.String(model.name());
  w.Key("ready"), w.Bool(readiness.ready);
  if (!readiness.ready) w.Key("error"), w.String(Join(readiness.reasons, "; "));
  w.EndObject();
  w.EndLine();
  return response;
}

void Infer(Service& service, const Request& request, const PathNames& names, const ExchangePtr& exchange) {
  const auto submit = [&]() -> Status {
    PLINTH_ASSIGN_OR_RETURN(ModelPtr model, ModelOf(service, names));
    const auto settings = service.settings();
    PLINTH_ASSIGN_OR_RETURN(const oip::InferRequest infer,
                            oip::ParseInferRequest(request.body, request.Field(oip::kHeaderLength),
                                                   {settings->series, settings->values}));
    return oip::Infer(service, std::move(model), infer, 0, exchange, [exchange](oip::InferAnswer answer) {
      oip::SendInferAnswer(std::move(answer), *exchange);
    });
  };
  if (const Status status = submit(); !status.ok()) exchange->Send(ToResponse(status));
}

}  // namespace

std::vector<http::Route> OipRoutes(Service& service) {
  const auto metadata = [&service](Request, const PathNames& names, ExchangePtr x) {
    const auto model = ModelOf(service, names);
    x->Send(model.ok() ? Metadata(**model) : ToResponse(model.status()));
  };
  const auto ready = [&service](Request, const PathNames& names, ExchangePtr x) {
    const auto model = ModelOf(service, names);
    x->Send(model.ok() ? Ready(service, **model) : ToResponse(model.status()));
  };
  const auto infer = [&service](Request request, const PathNames& names, ExchangePtr x) {
    Infer(service, request, names, x);
  };
  return {
      {"GET", "/v2/models/{model}", Scope::kRead, metadata},
      {"GET", "/v2/models/{model}/versions/{version}", Scope::kRead, metadata},
      {"GET", "/v2/models/{model}/ready", Scope::kRead, ready},
      {"GET", "/v2/models/{model}/versions/{version}/ready", Scope::kRead, ready},
      {"POST", "/v2/models/{model}/infer", Scope::kInfer, infer},
      {"POST", "/v2/models/{model}/versions/{version}/infer", Scope::kInfer, infer},
  };
}

}  // namespace plinth::server
