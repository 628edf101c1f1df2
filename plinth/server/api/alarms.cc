// /v1/alarms: what a person shall look at, and who has.
#include "plinth/server/alarms.h"

#include <charconv>

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

Response List(Service& service) {
  const Alarms::Counts counts = service.alarms().counts();
  Response response;
  response.fields.emplace_back("cache-control", "no-store");
  formats::JsonWriter w(&response.body);
  w.BeginObject();
  w.Key("unacknowledged"), w.Int(counts.unacknowledged);
  w.Key("open"), w.Int(counts.open);
  w.Key("dropped"), w.Int(counts.dropped);
  w.Key("not_saved"), w.String(counts.not_saved);
  w.Key("alarms"), w.BeginArray();
  for (const Alarm& alarm : service.alarms().List(static_cast<size_t>(counts.all))) WriteAlarm(alarm, w);
  w.EndArray();
  w.EndObject();
  w.EndLine();
  return response;
}

struct Acknowledgement {
  int64_t id = 0;
  std::string by, note;
};

StatusOr<Acknowledgement> Read(const Request& request, const std::string& id) {
  Acknowledgement a;
  const auto [end, error] = std::from_chars(id.data(), id.data() + id.size(), a.id);
  if (error != std::errc() || end != id.data() + id.size())
    return absl::NotFoundError(StrCat("there is no alarm \"", id.substr(0, 40), "\""));
  PLINTH_ASSIGN_OR_RETURN(const JsonBody body, JsonBody::Parse(request.body));
  const JsonField root = body.root();
  PLINTH_RETURN_IF_ERROR(root.CheckKeys({"by", "note"}));
  PLINTH_ASSIGN_OR_RETURN(const JsonField by, root.Get("by"));
  PLINTH_ASSIGN_OR_RETURN(const std::string_view who, by.Text());
  a.by = std::string(who);
  if (const auto note = root.Find("note")) {
    PLINTH_ASSIGN_OR_RETURN(const std::string_view text, note->Text());
    a.note = std::string(text);
  }
  // A name that nobody checked beside one that was: the key's.
  if (!request.key.empty() && request.key != a.by) a.by = StrCat(a.by, " (", request.key, ")");
  return a;
}

// A page of another origin can post text without asking, but not JSON.
bool IsJson(const Request& request) {
  return request.Field("content-type").substr(0, 16) == "application/json";
}

void Acknowledge(Service& service, const Request& request, const std::string& id, const ExchangePtr& x) {
  if (!IsJson(request)) {
    x->Send(http::ErrorResponse(415, "media_type", "the body is expected as content-type application/json"));
    return;
  }
  StatusOr<Acknowledgement> read = Read(request, id);
  if (!read.ok()) {
    x->Send(ToResponse(read.status()));
    return;
  }
  // The answer waits for the disk: what a person was told is done must outlast a power cut.
  service.RunAside([&service, x, a = *std::move(read)] {
    const auto alarm = service.alarms().Acknowledge(a.id, a.by, a.note);
    if (!alarm.ok()) {
      x->Send(ToResponse(absl::IsInvalidArgument(alarm.status())
                             ? FieldError("by", "is empty; say who acknowledges")
                             : alarm.status()));
      return;
    }
    const Status saved = service.alarms().Save();
    Response response;
    formats::JsonWriter w(&response.body);
    w.BeginObject();
    w.Key("alarm"), WriteAlarm(*alarm, w);
    w.Key("saved"), w.Bool(saved.ok() && !service.settings()->state_folder.empty());
    w.EndObject();
    w.EndLine();
    x->Send(std::move(response));
  });
}

}  // namespace

std::vector<http::Route> AlarmRoutes(Service& service) {
  return {
      {"GET", "/v1/alarms", Scope::kRead,
       [&service](Request, const PathNames&, ExchangePtr x) { x->Send(List(service)); }},
      {"POST", "/v1/alarms/{alarm}/acknowledge", Scope::kInfer,
       [&service](Request request, const PathNames& names, ExchangePtr x) {
         Acknowledge(service, request, names[0], x);
       }},
  };
}

}  // namespace plinth::server
