// /v1/models: which models are served, by what evidence; loads, unloads and aliases them.
#include <thread>

#include "plinth/formats/json_writer.h"
#include "plinth/server/api/routes.h"
#include "plinth/server/fields.h"
#include "plinth/server/service.h"

namespace plinth::server {
namespace {

using http::ExchangePtr;
using http::PathNames;
using http::Request;
using http::Response;
using http::Scope;

void WriteModel(const Service& service, const ServedModel& model, bool whole, formats::JsonWriter& w) {
  const models::ModelInfo& info = model.info();
  w.BeginObject();
  w.Key("name"), w.String(model.name());
  w.Key("family"), w.String(info.family);
  w.Key("device"), w.String(model.setting.device);
  w.Key("precision"), w.String(model.setting.precision);
  w.Key("loaded_at"), w.String(model.loaded_at);
  w.Key("digest"), w.String(model.model_digest);
  w.Key("aliases"), w.BeginArray();
  for (const auto& [alias, name] : const_cast<Service&>(service).models().Aliases()) {
    if (name == model.name()) w.String(alias);
  }
  w.EndArray();
  w.Key("evidence"), w.BeginObject();
  w.Key("state"), w.String(evidence::StateName(model.gate.state));
  w.Key("sentence"), w.String(model.gate.sentence);
  w.Key("identity"), w.String(model.gate.identity);
  w.Key("finished"), w.String(model.gate.finished);
  w.Key("self_attested"), w.Bool(model.gate.self_attested);
  w.Key("command"), w.String(model.gate.command);
  w.EndObject();
  w.Key("bounds"), w.BeginObject();
  w.Key("series"), w.Int(model.bounds.batch);
  w.Key("context"), w.Int(model.bounds.context);
  w.Key("horizon"), w.Int(model.bounds.horizon);
  w.EndObject();
  if (whole) {
    w.Key("path"), w.String(model.setting.path);
    w.Key("licence"), w.String(info.licence);
    w.Key("description"), w.String(info.description);
    w.Key("limits"), w.BeginArray();
    for (const std::string& limit : info.limits) w.String(limit);
    w.EndArray();
    w.Key("levels"), w.BeginArray();
    for (const double level : info.levels) w.Number(level);
    w.EndArray();
    w.Key("covariates"), w.Bool(info.groups);
    w.Key("identity"), w.BeginObject();
    for (const auto& [part, value] : model.identity.parts) w.Key(part), w.String(value);
    w.EndObject();
    const plan::Plan& plan = model.session->plan();
    w.Key("plan"), w.BeginObject();
    w.Key("steps"), w.Int(static_cast<int64_t>(plan.step_count()));
    w.Key("arena_bytes"), w.Int(model.session->arena_bytes());
    w.Key("weight_bytes"), w.Int(model.session->weight_bytes());
    w.EndObject();
  }
  w.EndObject();
}

Response List(Service& service) {
  Response response;
  formats::JsonWriter w(&response.body);
  w.BeginObject();
  w.Key("models"), w.BeginArray();
  for (const ModelPtr& model : service.models().All()) WriteModel(service, *model, false, w);
  w.EndArray();
  w.EndObject();
  w.EndLine();
  return response;
}

Response Show(const Service& service, const ServedModel& model) {
  Response response;
  formats::JsonWriter w(&response.body);
  WriteModel(service, model, true, w);
  w.EndLine();
  return response;
}

StatusOr<ModelSetting> ReadSetting(const std::string& name, const std::string& body) {
  PLINTH_ASSIGN_OR_RETURN(const JsonBody parsed, JsonBody::Parse(body));
  const JsonField root = parsed.root();
  PLINTH_RETURN_IF_ERROR(root.CheckKeys({"path", "device", "precision"}));
  ModelSetting setting;
  setting.name = name;
  if (!IsModelName(name)) {
    return FieldError("name", "is expected to be letters, digits, '.', '_' and '-', not beginning with '.'");
  }
  PLINTH_ASSIGN_OR_RETURN(const JsonField path, root.Get("path"));
  PLINTH_ASSIGN_OR_RETURN(const std::string_view text, path.Text());
  setting.path = std::string(text);
  for (const auto& [key, member] :
       {std::pair("device", &ModelSetting::device), {"precision", &ModelSetting::precision}}) {
    if (const auto field = root.Find(key)) {
      PLINTH_ASSIGN_OR_RETURN(const std::string_view value, field->Text());
      setting.*member = std::string(value);
    }
  }
  return setting;
}

// Loading takes seconds, so it has a thread of its own; the host does one at a time.
void Load(Service& service, const Request& request, const std::string& name, const ExchangePtr& exchange) {
  StatusOr<ModelSetting> setting = ReadSetting(name, request.body);
  if (!setting.ok()) {
    exchange->Send(ToResponse(setting.status()));
    return;
  }
  service.RunAside([&service, setting = *std::move(setting), exchange] {
    const auto model = service.models().Load(setting);
    exchange->Send(model.ok() ? Show(service, **model) : ToResponse(model.status()));
  });
}

void SetAlias(Service& service, const Request& request, const std::string& alias,
              const ExchangePtr& exchange) {
  const auto set = [&]() -> Status {
    if (!IsModelName(alias)) return FieldError("alias", "is not a name of letters, digits, '.', '_' and '-'");
    PLINTH_ASSIGN_OR_RETURN(const JsonBody parsed, JsonBody::Parse(request.body));
    const JsonField root = parsed.root();
    PLINTH_RETURN_IF_ERROR(root.CheckKeys({"model"}));
    PLINTH_ASSIGN_OR_RETURN(const JsonField model, root.Get("model"));
    PLINTH_ASSIGN_OR_RETURN(const std::string_view name, model.Text());
    return service.models().SetAlias(alias, name);
  };
  const Status status = set();
  exchange->Send(status.ok() ? List(service) : ToResponse(status));
}

}  // namespace

std::vector<http::Route> ModelRoutes(Service& service) {
  return {
      {"GET", "/v1/models", Scope::kRead,
       [&service](Request, const PathNames&, ExchangePtr x) { x->Send(List(service)); }},
      {"GET", "/v1/models/{model}", Scope::kRead,
       [&service](Request, const PathNames& names, ExchangePtr x) {
         const auto model = service.ModelFor(names[0]);
         x->Send(model.ok() ? Show(service, **model) : ToResponse(model.status()));
       }},
      {"POST", "/v1/models/{model}/load", Scope::kAdmin,
       [&service](Request request, const PathNames& names, ExchangePtr x) {
         Load(service, request, names[0], x);
       }},
      {"POST", "/v1/models/{model}/unload", Scope::kAdmin,
       [&service](Request, const PathNames& names, ExchangePtr x) {
         const Status status = service.models().Unload(names[0]);
         x->Send(status.ok() ? List(service) : ToResponse(status));
       }},
      {"PUT", "/v1/aliases/{alias}", Scope::kAdmin,
       [&service](Request request, const PathNames& names, ExchangePtr x) {
         SetAlias(service, request, names[0], x);
       }},
      {"DELETE", "/v1/aliases/{alias}", Scope::kAdmin,
       [&service](Request, const PathNames& names, ExchangePtr x) {
         const Status status = service.models().DropAlias(names[0]);
         x->Send(status.ok() ? List(service) : ToResponse(status));
       }},
  };
}

}  // namespace plinth::server
