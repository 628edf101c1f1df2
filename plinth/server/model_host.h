// Keeps the models that are served: loads them through the evidence gate, hands them out, lets them go.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "plinth/base/context.h"
#include "plinth/engine/session.h"
#include "plinth/evidence/gate.h"
#include "plinth/evidence/keys.h"
#include "plinth/server/settings.h"

namespace plinth::server {

// One loaded model. Requests hold it as long as they need it, so that it outlives its unloading.
struct ServedModel {
  ModelSetting setting;
  std::unique_ptr<engine::Session> session;
  plan::NumericsIdentity identity;
  std::string model_digest;
  evidence::GateResult gate;
  std::string loaded_at;    // RFC 3339, UTC
  uint64_t generation = 0;  // differs between any two loads

  const std::string& name() const { return setting.name; }
  const models::ModelInfo& info() const { return session->model().info(); }
  bool proven() const { return gate.state == evidence::State::kProven; }
  // The most series of a run, and steps of context and horizon that a request may ask for: those of the
  // evidence, or what the model and the service can where unproven models are allowed.
  evidence::Envelope bounds;
};
using ModelPtr = std::shared_ptr<const ServedModel>;

// Thread-safe.
class ModelHost {
 public:
  struct Options {
    Context context;
    std::vector<std::string> evidence_keys;
    std::string evidence_folder;
    std::string key_folder;  // of the local key; empty: none is trusted
    bool allow_unproven = false;
    int64_t most_series = 256, most_horizon = 1 << 16;
  };
  explicit ModelHost(Options options);

  // Loads, warms up, asks the gate and puts the model in the place of one of the same name, whose requests
  // end on it. An error leaves everything as it was. Errors: those of Session::Load; FailedPrecondition
  // without valid evidence (the sentence, and the command that mends it); InvalidArgument for a device or
  // precision that is not there; AlreadyExists for a name that is an alias.
  StatusOr<ModelPtr> Load(const ModelSetting& setting);
  // Serves a model whose session was made elsewhere, as the gate of whoever made it says (benches).
  void Adopt(std::shared_ptr<ServedModel> model);
  // Error: NotFound. Aliases of it go with it.
  Status Unload(std::string_view name);
  // Lets `alias` lead to the model `name`, whatever it led to before (which becomes "previous" where `alias`
  // is "incumbent"). Errors: NotFound; AlreadyExists for a name that is a model's.
  Status SetAlias(const std::string& alias, std::string_view name);
  Status DropAlias(std::string_view alias);

  // By name or alias; null where there is none.
  ModelPtr Find(std::string_view name) const;
  std::vector<ModelPtr> All() const;                                // by name
  std::map<std::string, std::string, std::less<>> Aliases() const;  // alias -> name
  // Whether any of them is served without valid evidence.
  bool AnyUnproven() const;

 private:
  Status Gate(ServedModel* model) const;
  static Status WarmUp(const ServedModel& model, int threads);

  const Options options_;
  std::mutex loading_;  // one load at a time
  mutable std::mutex mutex_;
  std::map<std::string, ModelPtr, std::less<>> models_;
  std::map<std::string, std::string, std::less<>> aliases_;
  uint64_t generations_ = 0;
};

}  // namespace plinth::server
