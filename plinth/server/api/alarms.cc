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
  w.Key("shelved"), w.Int(counts.shelved);
  w.Key("dropped"), w.Int(counts.dropped);
  w.Key("not_saved"), w.String(counts.not_saved);
  w.Key("alarms"), w.BeginArray();
  for (const Alarm& alarm : service.alarms().List(static_cast<size_t>(counts.all))) WriteAlarm(alarm, w);
  w.EndArray();
  w.EndObject();
  w.EndLine();
  return response;
}

// What a person does with an alarm.
enum class Act : uint8_t { kAcknowledge, kShelve, kUnshelve };

struct Wish {
  Act act;
  int64_t id = 0, minutes = 0;
  std::string by, note;  // of shelving: why
};

StatusOr<Wish> Read(const Request& request, const std::string& id, Act act) {
  Wish a{act};
  const auto [end, error] = std::from_chars(id.data(), id.data() + id.size(), a.id);
  if (error != std::errc() || end != id.data() + id.size())
    return absl::NotFoundError(StrCat("there is no alarm \"", id.substr(0, 40), "\""));
  PLINTH_ASSIGN_OR_RETURN(const JsonBody body, JsonBody::Parse(request.body));
  const JsonField root = body.root();
  if (act == Act::kAcknowledge) PLINTH_RETURN_IF_ERROR(root.CheckKeys({"by", "note"}));
  if (act == Act::kShelve) PLINTH_RETURN_IF_ERROR(root.CheckKeys({"by", "why", "minutes"}));
  if (act == Act::kUnshelve) PLINTH_RETURN_IF_ERROR(root.CheckKeys({"by"}));
  PLINTH_ASSIGN_OR_RETURN(const JsonField by, root.Get("by"));
  PLINTH_ASSIGN_OR_RETURN(const std::string_view who, by.Text());
  a.by = std::string(who);
  if (act == Act::kShelve) {
    PLINTH_ASSIGN_OR_RETURN(const JsonField why, root.Get("why"));
    PLINTH_ASSIGN_OR_RETURN(const std::string_view text, why.Text());
    a.note = std::string(text);
    PLINTH_ASSIGN_OR_RETURN(const JsonField minutes, root.Get("minutes"));
    PLINTH_ASSIGN_OR_RETURN(a.minutes, minutes.Int(1, Alarms::kMostShelvedMinutes));
  }
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

StatusOr<Alarm> Do(Alarms& alarms, const Wish& wish) {
  if (wish.act == Act::kAcknowledge) return alarms.Acknowledge(wish.id, wish.by, wish.note);
  if (wish.act == Act::kShelve) return alarms.Shelve(wish.id, wish.minutes, wish.by, wish.note);
  return alarms.Unshelve(wish.id);
}

// "by: is empty" names its field.
Status Named(const Status& status) {
  const std::string_view text(status.message().data(), status.message().size());
  const size_t colon = text.find(": ");
  if (!absl::IsInvalidArgument(status) || colon == text.npos) return status;
  return FieldError(std::string(text.substr(0, colon)), std::string(text.substr(colon + 2)));
}

void Take(Service& service, const Request& request, const std::string& id, Act act, const ExchangePtr& x) {
  if (!IsJson(request)) {
    x->Send(http::ErrorResponse(415, "media_type", "the body is expected as content-type application/json"));
    return;
  }
  StatusOr<Wish> read = Read(request, id, act);
  if (!read.ok()) {
    x->Send(ToResponse(read.status()));
    return;
  }
  // The answer waits for the disk: what a person was told is done must outlast a power cut.
  service.RunAside([&service, x, a = *std::move(read)] {
    const auto alarm = Do(service.alarms(), a);
    if (!alarm.ok()) {
      x->Send(ToResponse(Named(alarm.status())));
      return;
    }
    // Who brought it back stands nowhere else.
    if (a.act == Act::kUnshelve) {
      service.log().Write(LogLevel::kInfo, "alarm_unshelved", {{"id", a.id}, {"by", std::string_view(a.by)}});
    }
    const Status saved = service.SaveAlarms();
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
  const auto take = [&service](Act act) {
    return [&service, act](Request request, const PathNames& names, ExchangePtr x) {
      Take(service, request, names[0], act, x);
    };
  };
  return {
      {"GET", "/v1/alarms", Scope::kRead,
       [&service](Request, const PathNames&, ExchangePtr x) { x->Send(List(service)); }},
      {"POST", "/v1/alarms/{alarm}/acknowledge", Scope::kInfer, take(Act::kAcknowledge)},
      {"POST", "/v1/alarms/{alarm}/shelve", Scope::kInfer, take(Act::kShelve)},
      {"POST", "/v1/alarms/{alarm}/unshelve", Scope::kInfer, take(Act::kUnshelve)},
  };
}

}  // namespace plinth::server
