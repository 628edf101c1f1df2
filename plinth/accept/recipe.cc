#include "plinth/accept/recipe.h"

#include <initializer_list>
#include <iterator>

#include "plinth/base/files.h"
#include "plinth/base/text.h"
#include "plinth/formats/json_writer.h"
#include "plinth/formats/toml.h"

namespace plinth::accept {
namespace {

using formats::Config;

constexpr int64_t kMost = int64_t{1} << 40;
// What an acceptance of a forecasting model asks where nobody declared a band: a change that no plant would
// see.
constexpr const char* kDefaultBands[] = {"mase=0.5%", "wql=0.5%", "coverage_80=0.01"};

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
    if (captures && root_.Has("model")) {
      return root_.Refuse("model",
                          "either [model] for a model that Plinth runs, or [candidate] for captures of "
                          "another framework, not both: nothing");
    }
    PLINTH_RETURN_IF_ERROR(captures ? CheckUsedByCaptures(r) : CheckUsedByModel());
    return CheckUsedByBoth(r);
  }

  // A key that this kind of acceptance would pass over in silence. `why` says what would be right.
  Status Unused(const char* section, std::initializer_list<const char*> keys, std::string_view why) const {
    if (!root_.Has(section)) return absl::OkStatus();
    PLINTH_ASSIGN_OR_RETURN(const Config s, root_.Section(section));
    for (const char* key : keys) {
      if (s.Has(key)) return s.Refuse(key, StrCat(why, ": nothing"));
    }
    return absl::OkStatus();
  }

  Status CheckUsedByModel() const {
    PLINTH_RETURN_IF_ERROR(Unused(
        "task", {"labels"}, "labels belong to captures; a model's truth is the held-out series of [data]"));
    PLINTH_RETURN_IF_ERROR(Unused("task", {"rules"}, "rules belong to captures of kind asr or generation"));
    return Unused("incumbent", {"predictions"},
                  "predictions belong to captures; a model's are held against its network in double");
  }

  Status CheckUsedByCaptures(const Recipe& r) const {
    if (root_.Has("data")) {
      return root_.Refuse("data",
                          "held-out series belong to a model; captures hold their own inputs: nothing");
    }
    PLINTH_RETURN_IF_ERROR(Unused("run", {"repeats"},
                                  "the repeats of captures are those that [incumbent] and [candidate] name"));
    PLINTH_RETURN_IF_ERROR(
        Unused("performance", {"batches", "seconds"},
               "captures are not timed here; performance of each side names what was measured"));
    const auto both = [&](const char* key, const std::string& a, const std::string& b,
                          const char* what) -> Status {
      if (a.empty() == b.empty()) return absl::OkStatus();
      PLINTH_ASSIGN_OR_RETURN(const Config s, root_.Section(a.empty() ? "incumbent" : "candidate"));
      return s.Refuse(key, StrCat(what, ", as the other side names them: a file"));
    };
    PLINTH_RETURN_IF_ERROR(both("predictions", r.incumbent.predictions, r.candidate.predictions,
                                "predictions of this side too"));
    PLINTH_RETURN_IF_ERROR(both("performance", r.incumbent.performance, r.candidate.performance,
                                "measurements of this side too"));
    if (!r.candidate.predictions.empty()) return absl::OkStatus();
    return Unused("task", {"kind", "band", "labels", "required", "rules"},
                  "a task needs predictions under [incumbent] and [candidate]; without them");
  }

  Status CheckUsedByBoth(const Recipe& r) const {
    if (r.data.file.empty()) {
      PLINTH_RETURN_IF_ERROR(Unused("data", {"time", "item", "targets"},
                                    "columns need data.file; in made series there are none"));
    }
    if (r.incumbent.performance.empty()) {
      PLINTH_RETURN_IF_ERROR(
          Unused("performance", {"at_least"},
                 "a share of the incumbent's speed needs incumbent.performance; without it"));
    }
    const bool ruled = r.task.kind == "asr" || r.task.kind == "generation";
    return ruled ? absl::OkStatus()
                 : Unused("task", {"rules"}, StrCat("rules belong to asr and generation; for ", r.task.kind));
  }

  const Config& root_;
  const std::string folder_;
};

}  // namespace

std::vector<std::string> Recipe::Bands() const {
  std::vector<std::string> bands;
  for (const auto& [metric, band] : task.bands) bands.push_back(StrCat(metric, "=", band));
  if (bands.empty() && !model.empty()) bands.assign(std::begin(kDefaultBands), std::end(kDefaultBands));
  return bands;
}

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
  PLINTH_ASSIGN_OR_RETURN(const Config root, formats::ParseTomlWithLines(text, where));
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
