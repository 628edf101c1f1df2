#include "plinth/accept/subject.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "plinth/base/clock.h"
#include "plinth/base/digest.h"
#include "plinth/base/files.h"
#include "plinth/base/text.h"
#include "plinth/base/version.h"
#include "plinth/engine/identity.h"
#include "plinth/evidence/environment_diff.h"
#include "plinth/formats/json_writer.h"
#include "plinth/verify/metrics/metrics.h"

namespace plinth::accept {
namespace {

using formats::Capture;
using formats::CaptureEntry;

// Packed weights beyond which a model counts as large: smaller batches are then what people serve.
constexpr int64_t kLargeModelBytes = 64 << 20;
constexpr int64_t kLargeModelBatch = 8;
// Longer windows would need more history than the usual series has.
constexpr int64_t kLongestWindow = 96;

Status FillSizes(const engine::Session& session, Recipe* recipe) {
  const models::ModelInfo& info = session.model().info();
  Recipe::Sizes& sizes = recipe->envelope;
  const auto fill = [&](int64_t* size, int64_t most, const char* name) -> Status {
    if (*size == 0) *size = most;
    if (*size <= most) return absl::OkStatus();
    return absl::InvalidArgumentError(StrCat(recipe->path, ": \"envelope.", name, "\" is ", *size, "; ",
                                             info.family, " takes at most ", most));
  };
  PLINTH_RETURN_IF_ERROR(fill(&sizes.context, info.context_length, "context"));
  if (sizes.horizon == 0) sizes.horizon = info.horizon;  // beyond it the family continues
  if (sizes.batch == 0) sizes.batch = session.weight_bytes() > kLargeModelBytes ? kLargeModelBatch : 32;
  for (int64_t& batch : recipe->performance.batches) batch = std::min(batch, sizes.batch);
  auto& batches = recipe->performance.batches;
  batches.erase(std::unique(batches.begin(), batches.end()), batches.end());
  return absl::OkStatus();
}

StatusOr<std::vector<evidence::NamedDigest>> ModelFiles(const formats::ModelFolder& folder) {
  std::vector<evidence::NamedDigest> files;
  for (const std::string& name : folder.DigestFiles()) {
    PLINTH_ASSIGN_OR_RETURN(std::string sha256, folder.DigestOf(name));
    files.push_back({name, std::move(sha256), ""});
  }
  return files;
}

// The same bytes again, wherever they lie, are no other run. `digests`: of the captures before this one.
Status CheckNew(const char* side, const std::string& path, const std::string& sha256,
                const std::vector<evidence::NamedDigest>& digests) {
  for (const evidence::NamedDigest& known : digests) {
    if (known.sha256 != sha256) continue;
    const bool same_side = known.name.starts_with(StrCat(side, ": "));
    return absl::InvalidArgumentError(
        StrCat(path, ": is the same capture as ", known.name.substr(known.name.find(' ') + 1), " of [",
               known.name.substr(0, known.name.find(':')), "] (sha256 ", sha256.substr(0, 12), "...); ",
               same_side ? "repeats are runs of their own, each recorded once"
                         : "a capture held against itself shows nothing: one of each side is expected"));
  }
  return absl::OkStatus();
}

// Of each path a capture, the captures of all ranks, or those of several repeats. The digest of a
// capture.json covers its tensors, whose digests it names and which are checked here.
StatusOr<std::vector<std::vector<Capture>>> OpenSide(const char* side, const std::vector<std::string>& paths,
                                                     std::vector<evidence::NamedDigest>* digests) {
  std::vector<std::vector<Capture>> repeats;
  for (const std::string& path : paths) {
    PLINTH_ASSIGN_OR_RETURN(std::vector<Capture> captures, formats::OpenCaptures(path));
    std::map<int64_t, std::vector<Capture>> by_repeat;
    for (Capture& capture : captures) {
      PLINTH_RETURN_IF_ERROR(capture.VerifyDigests());
      const std::string text = JoinPath(capture.folder(), "capture.json");
      PLINTH_ASSIGN_OR_RETURN(std::string sha256, Sha256OfFile(text));
      PLINTH_RETURN_IF_ERROR(CheckNew(side, text, sha256, *digests));
      digests->push_back({StrCat(side, ": ", text), std::move(sha256), ""});
      by_repeat[capture.info().repeat].push_back(std::move(capture));
    }
    for (auto& [repeat, ranks] : by_repeat) repeats.push_back(std::move(ranks));
  }
  return repeats;
}

// All captures are of one model and of the same inputs, as far as they say so.
Status CheckCaptures(const std::vector<std::vector<Capture>>& all, std::string* model, std::string* inputs) {
  const auto agree = [](const Capture& capture, const std::string& says, const char* what,
                        std::string* known) -> Status {
    if (says.empty()) return absl::OkStatus();
    if (known->empty()) *known = says;
    if (*known == says) return absl::OkStatus();
    return absl::InvalidArgumentError(StrCat(capture.folder(), ": was made with another ", what, " (", says,
                                             ") than the captures before it (", *known,
                                             "); captures of one model on the same inputs are expected"));
  };
  for (const auto& ranks : all) {
    for (const Capture& capture : ranks) {
      PLINTH_RETURN_IF_ERROR(agree(capture, capture.info().model_digest, "model", model));
      PLINTH_RETURN_IF_ERROR(agree(capture, capture.info().inputs_digest, "digest of inputs", inputs));
    }
  }
  return absl::OkStatus();
}

std::string TextOf(const formats::JsonValue& value) {
  std::string text;
  formats::JsonWriter w(&text);
  formats::WriteJson(value, w);
  return text;
}

// An object without one of its keys.
std::string TextWithout(const formats::JsonValue& value, std::string_view key) {
  if (value.object() == nullptr) return TextOf(value);
  std::string text;
  formats::JsonWriter w(&text);
  w.BeginObject();
  for (const auto& [name, member] : *value.object()) {
    if (name == key) continue;
    w.Key(name);
    formats::WriteJson(member, w);
  }
  w.EndObject();
  return text;
}

// Empty where the capture says nothing of it.
evidence::Environment EnvironmentOf(const Capture& capture) {
  if (capture.environment().object() == nullptr) return evidence::Environment();
  auto parsed = evidence::ParseEnvironment(TextOf(capture.environment()),
                                           JoinPath(capture.folder(), "environment.json"));
  return parsed.ok() ? *std::move(parsed) : evidence::Environment();
}

// What decides the numbers of a run that Plinth did not make: what its environment says.
StatusOr<evidence::NumericsIdentity> IdentityOfCapture(const Capture& capture, const std::string& model,
                                                       const evidence::Environment& environment) {
  Sha256 facts;
  for (const evidence::Fact& fact : environment.facts) {
    if (evidence::FindEffect(fact).effect != evidence::Effect::kNumbers) continue;
    facts.Update(StrCat(fact.Path(), "=", evidence::FactText(fact.value), "\n"));
  }
  PLINTH_ASSIGN_OR_RETURN(const std::string digest, facts.Hex());
  evidence::NumericsIdentity identity;
  // How many threads ran and how closely somebody looked decides no number.
  identity.parts = {{"model", model},
                    {"graph", "as captured"},
                    {"precision", TextWithout(capture.info().precision, "threads")},
                    {"kernels", "of the framework"},
                    {"environment", digest},
                    {"producer", TextWithout(capture.info().producer, "level")}};
  return identity;
}

// Runs of one side come from one model on one platform: rank by rank, what decides their numbers is the same.
Status CheckOneSide(const char* side, const std::vector<std::vector<Capture>>& repeats) {
  std::vector<std::string> first;  // by rank
  for (const auto& ranks : repeats) {
    for (size_t rank = 0; rank < ranks.size(); ++rank) {
      PLINTH_ASSIGN_OR_RETURN(const evidence::NumericsIdentity identity,
                              IdentityOfCapture(ranks[rank], "any", EnvironmentOf(ranks[rank])));
      PLINTH_ASSIGN_OR_RETURN(std::string digest, identity.Digest());
      if (rank == first.size()) {
        first.push_back(std::move(digest));
      } else if (first[rank] != digest) {
        return absl::InvalidArgumentError(StrCat(
            ranks[rank].folder(), ": ran on another platform, or in another precision, than ",
            repeats[0][rank].folder(), " of [", side, "]; repeats of one run are expected on one side"));
      }
    }
  }
  return absl::OkStatus();
}

// What evidence about captures covers: rows and length of what went into the network, and as many steps. More
// than was run cannot be claimed.
Status FillSizes(const Capture& capture, Recipe* recipe) {
  const auto& entries = capture.entries();
  const auto size = [&](size_t axis) -> int64_t {
    const bool known = !entries.empty() && axis < entries[0].dims.size();
    return known ? std::max<int64_t>(entries[0].dims[axis], 1) : 1;
  };
  int64_t steps = 1;
  for (const CaptureEntry& entry : entries) steps = std::max<int64_t>(steps, entry.step + 1);
  Recipe::Sizes& sizes = recipe->envelope;
  for (const auto& [name, wanted, ran] :
       {std::tuple("batch", &sizes.batch, size(0)), std::tuple("context", &sizes.context, size(1)),
        std::tuple("horizon", &sizes.horizon, steps)}) {
    if (*wanted == 0) *wanted = ran;
    if (*wanted <= ran) continue;
    return absl::InvalidArgumentError(StrCat(recipe->path, ": \"envelope.", name, "\" is ", *wanted, ", but ",
                                             capture.folder(), " ran ", ran,
                                             "; what was not captured is not covered"));
  }
  return absl::OkStatus();
}

Status CheckTaskKind(const Recipe& recipe) {
  const std::vector<std::string>& known = verify::metrics::TaskNames();
  const bool forecasts = !recipe.model.empty();
  const bool fits = forecasts ? recipe.task.kind == "forecasting"
                              : std::find(known.begin(), known.end(), recipe.task.kind) != known.end();
  if (fits) return absl::OkStatus();
  return absl::InvalidArgumentError(StrCat(recipe.path, ": \"task.kind\" is \"", recipe.task.kind, "\"; ",
                                           forecasts ? "forecasting" : Join(known, ", "), " is expected"));
}

}  // namespace

StatusOr<Subject> Subject::Open(const Context& context, Recipe* recipe) {
  Subject s;
  PLINTH_ASSIGN_OR_RETURN(
      s.rules, recipe->rules.empty() ? verify::RuleSet::Builtin() : verify::RuleSet::Load(recipe->rules));
  if (!recipe->waivers.empty()) {
    const int64_t today = verify::DayOf(Clock::System().Wall());
    PLINTH_ASSIGN_OR_RETURN(s.waivers, verify::LoadWaivers(recipe->waivers, today));
  }
  if (!recipe->requirements.empty()) {
    PLINTH_ASSIGN_OR_RETURN(s.requirements, verify::LoadRequirements(recipe->requirements));
  }
  PLINTH_RETURN_IF_ERROR(CheckTaskKind(*recipe));
  PLINTH_ASSIGN_OR_RETURN(s.incumbent, OpenSide("incumbent", recipe->incumbent.captures, &s.captures));
  PLINTH_ASSIGN_OR_RETURN(s.candidate, OpenSide("candidate", recipe->candidate.captures, &s.captures));
  std::string model;
  PLINTH_RETURN_IF_ERROR(CheckCaptures(s.incumbent, &model, &s.inputs.digest));
  PLINTH_RETURN_IF_ERROR(CheckCaptures(s.candidate, &model, &s.inputs.digest));
  PLINTH_RETURN_IF_ERROR(CheckOneSide("incumbent", s.incumbent));
  PLINTH_RETURN_IF_ERROR(CheckOneSide("candidate", s.candidate));
  if (recipe->model.empty()) {
    const Capture& first = s.candidate.at(0).at(0);
    if (model.empty()) {
      return absl::InvalidArgumentError(
          StrCat(first.folder(),
                 ": no capture names its model's digest, which evidence is bound to; record them with "
                 "`python -m plinth_capture run --weights FILE`, or Capture(weights=FILE)"));
    }
    s.model_name = first.info().model_name;
    PLINTH_RETURN_IF_ERROR(FillSizes(first, recipe));
    // What was recorded counts, whatever number of repeats the recipe asks for.
    recipe->repeats = static_cast<int64_t>(std::min(s.incumbent.size(), s.candidate.size()));
    s.environment_json = TextOf(first.environment());
    s.environment = EnvironmentOf(first);
    PLINTH_ASSIGN_OR_RETURN(s.identity, IdentityOfCapture(first, model, s.environment));
  } else {
    PLINTH_ASSIGN_OR_RETURN(s.session, engine::Session::Load(recipe->model, context));
    PLINTH_RETURN_IF_ERROR(FillSizes(*s.session, recipe));
    const std::string beside = JoinPath(recipe->model, "cases.json");
    if (recipe->cases.empty() && FileExists(beside)) recipe->cases = beside;
    if (!recipe->cases.empty() && !FileExists(recipe->cases)) {
      return absl::NotFoundError(
          StrCat(recipe->cases, ": no such file; the cases.json of a golden folder is expected"));
    }
    s.model_name = s.session->folder().name();
    PLINTH_ASSIGN_OR_RETURN(s.model_files, ModelFiles(s.session->folder()));
    const models::ModelInfo& info = s.session->model().info();
    PLINTH_ASSIGN_OR_RETURN(s.inputs,
                            MakeInputs(recipe->data, recipe->envelope.context,
                                       std::min({recipe->envelope.horizon, info.horizon, kLongestWindow})));
    evidence::EnvironmentOptions options;
    options.threads = context.threads;
    options.model = recipe->model;
    if (!recipe->data.file.empty()) options.inputs = {recipe->data.file};
    PLINTH_ASSIGN_OR_RETURN(s.environment, evidence::CollectEnvironment(options));
    s.environment_json = evidence::ToJson(s.environment);
    PLINTH_ASSIGN_OR_RETURN(s.identity, engine::IdentityOf(*s.session));
  }
  PLINTH_ASSIGN_OR_RETURN(s.identity_digest, s.identity.Digest());
  return s;
}

}  // namespace plinth::accept
