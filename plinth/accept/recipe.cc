#include "plinth/accept/recipe.h"

#include "plinth/base/files.h"
#include "plinth/base/text.h"
#include "plinth/formats/json_writer.h"
#include "plinth/formats/toml.h"

namespace plinth::accept {
namespace {

using formats::Config;

constexpr int64_t kMost = int64_t{1} << 40;

// Reads the sections of one file.
class Reader {
 public:
  Reader(const Config& root, std::string folder) : root_(root), folder_(std::move(folder)) {}

  StatusOr<Recipe> Read() {
    PLINTH_RETURN_IF_ERROR(root_.CheckKeys({"model", "data", "envelope", "run", "task", "performance",
                                            "incumbent", "candidate", "truth", "rules"}));
    Recipe r;
    PLINTH_RETURN_IF_ERROR(ReadModel(&r));
    PLINTH_RETURN_IF_ERROR(ReadData(&r.data));
    PLINTH_RETURN_IF_ERROR(ReadSizes(&r));
    PLINTH_RETURN_IF_ERROR(ReadTask(&r.task));
    PLINTH_RETURN_IF_ERROR(ReadPerformance(&r.performance));
    PLINTH_RETURN_IF_ERROR(ReadSide("incumbent", &r.incumbent));
    PLINTH_RETURN_IF_ERROR(ReadSide("candidate", &r.candidate));
    PLINTH_RETURN_IF_ERROR(ReadRules(&r));
    PLINTH_RETURN_IF_ERROR(Check(r));
    return r;
  }

 private:
  // A section with exactly these keys; an empty one where it is missing.
  StatusOr<Config> Section(const char* name, const std::vector<std::string>& keys) const {
    if (!root_.Has(name)) return Config::Of(formats::JsonValue(formats::JsonValue::Object()), root_.where());
    PLINTH_ASSIGN_OR_RETURN(Config section, root_.Section(name));
    PLINTH_RETURN_IF_ERROR(section.CheckKeys(keys));
    return section;
  }

  // Relative paths are taken from the recipe's folder.
  std::string Beside(const std::string& path) const {
    const bool relative = !path.empty() && path[0] != '/';
    return relative ? JoinPath(folder_, path) : path;
  }

  StatusOr<std::string> Path(const Config& section, const char* key) const {
    const StatusOr<std::string> path = section.TextOr(key, "");
    return path.ok() ? StatusOr<std::string>(Beside(*path)) : path;
  }

  Status ReadModel(Recipe* r) const {
    PLINTH_ASSIGN_OR_RETURN(const Config s, Section("model", {"path", "cases", "precision"}));
    PLINTH_ASSIGN_OR_RETURN(r->model, Path(s, "path"));
    PLINTH_ASSIGN_OR_RETURN(r->cases, Path(s, "cases"));
    if (s.Has("precision")) {
      PLINTH_ASSIGN_OR_RETURN(r->precision, s.Choice("precision", {"f32"}));
    }
    return absl::OkStatus();
  }

  Status ReadData(Recipe::Data* d) const {
    PLINTH_ASSIGN_OR_RETURN(const Config s,
                            Section("data", {"file", "time", "item", "targets", "windows", "season"}));
    PLINTH_ASSIGN_OR_RETURN(d->file, Path(s, "file"));
    PLINTH_ASSIGN_OR_RETURN(d->time, s.TextOr("time", ""));
    PLINTH_ASSIGN_OR_RETURN(d->item, s.TextOr("item", ""));
    PLINTH_ASSIGN_OR_RETURN(d->targets, s.Texts("targets"));
    PLINTH_ASSIGN_OR_RETURN(d->windows, s.IntOr("windows", 1, 10000, d->windows));
    PLINTH_ASSIGN_OR_RETURN(d->season, s.IntOr("season", 0, kMost, d->season));
    return absl::OkStatus();
  }

  Status ReadSizes(Recipe* r) const {
    PLINTH_ASSIGN_OR_RETURN(const Config e, Section("envelope", {"batch", "context", "horizon"}));
    PLINTH_ASSIGN_OR_RETURN(r->envelope.batch, e.IntOr("batch", 0, 1 << 20, r->envelope.batch));
    PLINTH_ASSIGN_OR_RETURN(r->envelope.context, e.IntOr("context", 0, kMost, 0));
    PLINTH_ASSIGN_OR_RETURN(r->envelope.horizon, e.IntOr("horizon", 0, 1 << 20, 0));
    PLINTH_ASSIGN_OR_RETURN(const Config run, Section("run", {"repeats"}));
    PLINTH_ASSIGN_OR_RETURN(r->repeats, run.IntOr("repeats", 1, 100000, r->repeats));
    return absl::OkStatus();
  }

  Status ReadTask(Recipe::Task* t) const {
    PLINTH_ASSIGN_OR_RETURN(const Config s, Section("task", {"kind", "labels", "required", "rules", "band"}));
    if (s.Has("kind")) {
      PLINTH_ASSIGN_OR_RETURN(t->kind, s.Text("kind"));
    }
    PLINTH_ASSIGN_OR_RETURN(t->labels, Path(s, "labels"));
    PLINTH_ASSIGN_OR_RETURN(t->required, Path(s, "required"));
    PLINTH_ASSIGN_OR_RETURN(t->rules, Path(s, "rules"));
    if (!s.Has("band")) return absl::OkStatus();
    PLINTH_ASSIGN_OR_RETURN(const Config bands, s.Section("band"));
    for (const auto& [name, value] : *bands.json().object()) {
      if (value.text() == nullptr) return bands.Refuse(name, "text as \"1%\" or \"0.02\"");
      t->bands.emplace_back(name, *value.text());
    }
    return absl::OkStatus();
  }

  Status ReadPerformance(Recipe::Performance* p) const {
    PLINTH_ASSIGN_OR_RETURN(const Config s, Section("performance", {"batches", "at_least", "seconds"}));
    if (s.Has("batches")) {
      PLINTH_ASSIGN_OR_RETURN(p->batches, s.Ints("batches", 1, 1 << 20, 16));
    }
    PLINTH_ASSIGN_OR_RETURN(p->at_least, s.RealOr("at_least", 0.01, 100, p->at_least));
    PLINTH_ASSIGN_OR_RETURN(p->seconds, s.RealOr("seconds", 0.05, 3600, p->seconds));
    return absl::OkStatus();
  }

  Status ReadSide(const char* name, Side* side) const {
    PLINTH_ASSIGN_OR_RETURN(const Config s, Section(name, {"captures", "predictions", "performance"}));
    PLINTH_ASSIGN_OR_RETURN(side->captures, s.Texts("captures"));
    for (std::string& path : side->captures) path = Beside(path);
    PLINTH_ASSIGN_OR_RETURN(side->predictions, Path(s, "predictions"));
    PLINTH_ASSIGN_OR_RETURN(side->performance, Path(s, "performance"));
    return absl::OkStatus();
  }

  Status ReadRules(Recipe* r) const {
    PLINTH_ASSIGN_OR_RETURN(const Config t, Section("truth", {"capture"}));
    PLINTH_ASSIGN_OR_RETURN(r->truth, Path(t, "capture"));
    PLINTH_ASSIGN_OR_RETURN(const Config s, Section("rules", {"file", "waivers", "requirements"}));
    PLINTH_ASSIGN_OR_RETURN(r->rules, Path(s, "file"));
    PLINTH_ASSIGN_OR_RETURN(r->waivers, Path(s, "waivers"));
    PLINTH_ASSIGN_OR_RETURN(r->requirements, Path(s, "requirements"));
    return absl::OkStatus();
  }

  Status Check(const Recipe& r) const {
    const bool captures = !r.candidate.captures.empty();
    if (!captures && (root_.Has("candidate") || !r.incumbent.captures.empty() || !r.truth.empty())) {
      return root_.Refuse("candidate", "a section whose captures are held against those of [incumbent]");
    }
    if (captures && r.incumbent.captures.empty()) {
      return root_.Refuse("incumbent", "a section with the captures that [candidate] is held against");
    }
    if (captures && !r.model.empty()) {
      return root_.Refuse("model",
                          "either [model] for a model that Plinth runs, or [candidate] for captures of "
                          "another framework, not both: nothing");
    }
    return absl::OkStatus();
  }

  const Config& root_;
  const std::string folder_;
};

}  // namespace

std::string Recipe::Canonical() const {
  std::string out;
  formats::JsonWriter w(&out);
  const auto texts = [&](const char* key, const std::vector<std::string>& list) {
    w.Key(key), w.BeginArray();
    for (const std::string& text : list) w.String(text);
    w.EndArray();
  };
  const auto side = [&](const char* key, const Side& s) {
    w.Key(key), w.BeginObject();
    texts("captures", s.captures);
    w.Key("predictions"), w.String(s.predictions);
    w.Key("performance"), w.String(s.performance);
    w.EndObject();
  };
  w.BeginObject();
  w.Key("model"), w.String(model);
  w.Key("cases"), w.String(cases);
  w.Key("precision"), w.String(precision);
  w.Key("data"), w.BeginObject();
  w.Key("file"), w.String(data.file);
  w.Key("time"), w.String(data.time);
  w.Key("item"), w.String(data.item);
  texts("targets", data.targets);
  w.Key("windows"), w.Int(data.windows);
  w.Key("season"), w.Int(data.season);
  w.EndObject();
  w.Key("envelope"), w.BeginObject();
  w.Key("batch"), w.Int(envelope.batch);
  w.Key("context"), w.Int(envelope.context);
  w.Key("horizon"), w.Int(envelope.horizon);
  w.EndObject();
  w.Key("repeats"), w.Int(repeats);
  w.Key("task"), w.BeginObject();
  w.Key("kind"), w.String(task.kind);
  w.Key("labels"), w.String(task.labels);
  w.Key("required"), w.String(task.required);
  w.Key("rules"), w.String(task.rules);
  w.Key("band"), w.BeginObject();
  for (const auto& [name, band] : task.bands) w.Key(name), w.String(band);
  w.EndObject();
  w.EndObject();
  w.Key("performance"), w.BeginObject();
  w.Key("batches"), w.BeginArray();
  for (const int64_t batch : performance.batches) w.Int(batch);
  w.EndArray();
  w.Key("at_least"), w.Number(performance.at_least);
  w.Key("seconds"), w.Number(performance.seconds);
  w.EndObject();
  side("incumbent", incumbent);
  side("candidate", candidate);
  w.Key("truth"), w.String(truth);
  w.Key("rules"), w.String(rules);
  w.Key("waivers"), w.String(waivers);
  w.Key("requirements"), w.String(requirements);
  w.EndObject();
  return out;
}

StatusOr<Recipe> ParseRecipe(std::string_view text, const std::string& where) {
  PLINTH_ASSIGN_OR_RETURN(const Config root, formats::ParseToml(text, where));
  const size_t slash = where.rfind('/');
  PLINTH_ASSIGN_OR_RETURN(Recipe recipe,
                          Reader(root, slash == std::string::npos ? "" : where.substr(0, slash)).Read());
  recipe.path = where;
  return recipe;
}

StatusOr<Recipe> LoadRecipe(const std::string& path) {
  PLINTH_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, formats::kMaxConfigBytes));
  return ParseRecipe(text, path);
}

}  // namespace plinth::accept
