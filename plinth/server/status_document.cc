#include "plinth/server/status_document.h"

#include "plinth/base/cpu.h"
#include "plinth/base/memory.h"
#include "plinth/base/threads.h"
#include "plinth/base/version.h"
#include "plinth/device/device.h"
#include "plinth/evidence/unit.h"
#include "plinth/formats/json_writer.h"
#include "plinth/server/service.h"

namespace plinth::server {
namespace {

using formats::JsonWriter;

constexpr size_t kMostAlarms = 50;

void Server(const Service& service, JsonWriter& w) {
  const int64_t now = Clock::System().Wall();
  w.Key("server"), w.BeginObject();
  w.Key("version"), w.String(kVersion);
  w.Key("time"), w.String(evidence::Rfc3339(now));
  w.Key("started"), w.String(evidence::Rfc3339(service.started()));
  w.Key("uptime_seconds"), w.Number(static_cast<double>(now - service.started()) / 1e9);
  w.EndObject();
  const Service::Readiness r = service.readiness();
  w.Key("ready"), w.Bool(r.ready);
  w.Key("reasons"), w.BeginArray();
  for (const std::string& reason : r.reasons) w.String(reason);
  w.EndArray();
}

void Models(Service& service, JsonWriter& w) {
  const auto aliases = service.models().Aliases();
  w.Key("unproven"), w.Bool(service.models().AnyUnproven());
  w.Key("models"), w.BeginArray();
  for (const ModelPtr& model : service.models().All()) {
    w.BeginObject();
    w.Key("name"), w.String(model->name());
    w.Key("family"), w.String(model->info().family);
    w.Key("device"), w.String(model->setting.device);
    w.Key("precision"), w.String(model->setting.precision);
    w.Key("loaded_at"), w.String(model->loaded_at);
    w.Key("aliases"), w.BeginArray();
    for (const auto& [alias, name] : aliases) {
      if (name == model->name()) w.String(alias);
    }
    w.EndArray();
    w.Key("evidence"), w.BeginObject();
    w.Key("state"), w.String(evidence::StateName(model->gate.state));
    w.Key("sentence"), w.String(model->gate.sentence);
    w.Key("command"), w.String(model->gate.command);
    w.Key("identity"), w.String(model->gate.identity);
    w.Key("finished"), w.String(model->gate.finished);
    w.Key("self_attested"), w.Bool(model->gate.self_attested);
    w.EndObject();
    w.Key("bounds"), w.BeginObject();
    w.Key("series"), w.Int(model->bounds.batch);
    w.Key("context"), w.Int(model->bounds.context);
    w.Key("horizon"), w.Int(model->bounds.horizon);
    w.EndObject();
    w.Key("weight_bytes"), w.Int(model->session->weight_bytes());
    w.Key("arena_bytes"), w.Int(model->session->arena_bytes());
    w.EndObject();
  }
  w.EndArray();
}

void Engine(Service& service, JsonWriter& w) {
  const Batcher::State state = service.batcher().state();
  w.Key("engine"), w.BeginObject();
  w.Key("waiting"), w.Int(state.waiting);
  w.Key("running"), w.Int(state.running);
  w.Key("queue"), w.Int(service.settings()->queue);
  w.Key("batches"), w.Int(state.batches);
  w.Key("requests"), w.Int(state.requests);
  w.Key("series"), w.Int(state.series);
  w.Key("busy_seconds"), w.Number(static_cast<double>(state.busy_nanoseconds) / 1e9);
  w.Key("retry_after_seconds"), w.Int(service.batcher().RetryAfter());
  w.Key("devices"), w.BeginArray();
  for (const Device& device : AvailableDevices()) w.String(device.ToString());
  w.EndArray();
  w.Key("instructions"), w.String(IsaName(service.context().isa));
  w.Key("threads"), w.Int(service.context().threads == nullptr ? 1 : service.context().threads->count());
  w.EndObject();
  w.Key("memory"), w.BeginObject();
  w.Key("resident_bytes"), w.Int(ResidentBytes());
  w.Key("available_bytes"), w.Int(AvailableMemory());
  w.EndObject();
}

void AlarmsOpen(Service& service, JsonWriter& w) {
  const Alarms::Counts counts = service.alarms().counts();
  w.Key("alarms"), w.BeginObject();
  w.Key("unacknowledged"), w.Int(counts.unacknowledged);
  w.Key("open"), w.Int(counts.open);
  w.Key("shelved"), w.Int(counts.shelved);
  w.Key("all"), w.Int(counts.all);
  w.Key("dropped"), w.Int(counts.dropped);
  w.Key("kept_on_disk"), w.Bool(!service.settings()->state_folder.empty());
  w.Key("not_saved"), w.String(counts.not_saved);
  w.Key("list"), w.BeginArray();
  for (const Alarm& alarm : service.alarms().List(kMostAlarms)) WriteAlarm(alarm, w);
  w.EndArray();
  w.EndObject();
}

}  // namespace

std::string StatusDocument(Service& service) {
  std::string text;
  JsonWriter w(&text);
  w.BeginObject();
  Server(service, w);
  Models(service, w);
  Engine(service, w);
  w.Key("load"), service.load().WriteJson(w);
  AlarmsOpen(service, w);
  w.Key("input"), service.input().WriteJson(w);
  w.Key("forecasts"), service.recent().WriteList(w);
  w.EndObject();
  w.EndLine();
  return text;
}

}  // namespace plinth::server
