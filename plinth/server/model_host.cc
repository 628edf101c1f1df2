#include "plinth/server/model_host.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "plinth/base/clock.h"
#include "plinth/base/text.h"
#include "plinth/engine/identity.h"

namespace plinth::server {

ModelHost::ModelHost(Options options) : options_(std::move(options)) {}

StatusOr<ModelPtr> ModelHost::Load(const ModelSetting& setting) {
  if (setting.device != "cpu") {
    return absl::InvalidArgumentError(StrCat("model ", setting.name, ": the device \"", setting.device,
                                             "\" is not there; this build serves on cpu"));
  }
  if (setting.precision != "f32") {
    return absl::InvalidArgumentError(
        StrCat("model ", setting.name, ": the precision \"", setting.precision, "\" is not f32"));
  }
  const std::lock_guard one(loading_);
  {
    const std::lock_guard lock(mutex_);
    if (aliases_.contains(setting.name)) {
      return absl::AlreadyExistsError(StrCat("\"", setting.name, "\" is an alias of ",
                                             aliases_.at(setting.name), "; load under another name"));
    }
  }
  auto model = std::make_shared<ServedModel>();
  model->setting = setting;
  PLINTH_ASSIGN_OR_RETURN(model->session, engine::Session::Load(setting.path, options_.context));
  PLINTH_ASSIGN_OR_RETURN(model->identity, engine::IdentityOf(*model->session));
  if (const std::string* digest = model->identity.Find("model")) model->model_digest = *digest;
  PLINTH_RETURN_IF_ERROR(Gate(model.get()));
  PLINTH_RETURN_IF_ERROR(WarmUp(*model, options_.context.threads->count()));
  model->loaded_at = evidence::Rfc3339(Clock::System().Wall());
  Adopt(model);
  return ModelPtr(model);
}

void ModelHost::Adopt(std::shared_ptr<ServedModel> model) {
  const std::lock_guard lock(mutex_);
  model->generation = ++generations_;
  for (const std::string& alias : model->setting.aliases) aliases_[alias] = model->name();
  models_[model->name()] = std::move(model);
}

Status ModelHost::Gate(ServedModel* model) const {
  evidence::GateRequest request;
  request.identity = model->identity;
  request.model_name = model->session->folder().name();
  request.model = model->session->folder().path();
  request.evidence = options_.evidence_folder;
  request.folders = evidence::SearchFolders(options_.evidence_folder, model->session->folder().path());
  const auto keys = evidence::TrustedKeys::Load(options_.key_folder, options_.evidence_keys);
  PLINTH_RETURN_IF_ERROR(keys.status());
  model->gate = evidence::Check(request, *keys);
  const models::ModelInfo& info = model->info();
  model->bounds = {options_.most_series, info.context_length, options_.most_horizon};
  if (model->proven()) {
    const evidence::Envelope& covered = model->gate.covered;
    model->bounds = {std::min(options_.most_series, covered.batch), covered.context,
                     std::min(options_.most_horizon, covered.horizon)};
    return absl::OkStatus();
  }
  if (options_.allow_unproven) return absl::OkStatus();
  return absl::FailedPreconditionError(StrCat(
      "model ", model->name(), ": ", evidence::StateName(model->gate.state), ": ", model->gate.sentence,
      model->gate.command.empty() ? "" : StrCat("; to prove it, run: ", model->gate.command)));
}

// The longest run touches every page that a request will need; short ones make the plans and the state that
// each thread has of its own, and what groups need where the family has them.
Status ModelHost::WarmUp(const ServedModel& model, int threads) {
  const models::ModelInfo& info = model.info();
  const int64_t longest = std::min(model.bounds.context, info.context_length);
  std::vector<double> wave(static_cast<size_t>(longest));
  for (size_t i = 0; i < wave.size(); ++i) wave[i] = std::sin(static_cast<double>(i) / 4);
  const auto run = [&](const std::vector<engine::Group>& groups) {
    return model.session
        ->Run(groups, {.horizon = std::min(model.bounds.horizon, info.horizon), .levels = info.levels})
        .status();
  };
  const std::span<const double> whole(wave), brief = whole.last(std::min<size_t>(wave.size(), 64));
  PLINTH_RETURN_IF_ERROR(run({{.rows = {{.past = whole}}}}));
  const auto most = static_cast<size_t>(std::min<int64_t>(model.bounds.batch, 2 * threads));
  PLINTH_RETURN_IF_ERROR(run(std::vector<engine::Group>(most, {.rows = {{.past = brief}}})));
  if (!info.groups || model.bounds.batch < 2) return absl::OkStatus();
  return run({{.rows = {{.past = brief}, {.past = brief}}, .targets = 2}});
}

Status ModelHost::Unload(std::string_view name) {
  const std::lock_guard lock(mutex_);
  const auto at = models_.find(name);
  if (at == models_.end()) return absl::NotFoundError(StrCat("no model is named \"", name, "\""));
  std::erase_if(aliases_, [&](const auto& alias) { return alias.second == name; });
  models_.erase(at);
  return absl::OkStatus();
}

Status ModelHost::SetAlias(const std::string& alias, std::string_view name) {
  const std::lock_guard lock(mutex_);
  if (models_.contains(alias)) {
    return absl::AlreadyExistsError(StrCat("\"", alias, "\" is a model's own name; choose another alias"));
  }
  const auto at = models_.find(name);
  if (at == models_.end()) return absl::NotFoundError(StrCat("no model is named \"", name, "\""));
  const auto before = aliases_.find(alias);
  if (alias == "incumbent" && before != aliases_.end() && before->second != name) {
    aliases_["previous"] = before->second;
  }
  aliases_[alias] = std::string(name);
  return absl::OkStatus();
}

Status ModelHost::DropAlias(std::string_view alias) {
  const std::lock_guard lock(mutex_);
  const auto at = aliases_.find(alias);
  if (at == aliases_.end()) return absl::NotFoundError(StrCat("no alias is named \"", alias, "\""));
  aliases_.erase(at);
  return absl::OkStatus();
}

ModelPtr ModelHost::Find(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  const auto alias = aliases_.find(name);
  const auto at = models_.find(alias == aliases_.end() ? name : std::string_view(alias->second));
  return at == models_.end() ? nullptr : at->second;
}

std::vector<ModelPtr> ModelHost::All() const {
  const std::lock_guard lock(mutex_);
  std::vector<ModelPtr> all;
  for (const auto& [name, model] : models_) all.push_back(model);
  return all;
}

std::map<std::string, std::string, std::less<>> ModelHost::Aliases() const {
  const std::lock_guard lock(mutex_);
  return aliases_;
}

bool ModelHost::AnyUnproven() const {
  const std::vector<ModelPtr> all = All();
  return std::any_of(all.begin(), all.end(), [](const ModelPtr& m) { return !m->proven(); });
}

}  // namespace plinth::server
