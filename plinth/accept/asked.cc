#include "plinth/accept/asked.h"

#include "plinth/base/digest.h"
#include "plinth/base/files.h"
#include "plinth/base/text.h"
#include "plinth/formats/json_writer.h"
#include "plinth/verify/metrics/bands.h"

namespace plinth::accept {
namespace {

using evidence::AskedItem;
using Covers = AskedItem::Covers;

// The operators are checked by the cases of the smoke tier; a wider tier would have a larger number.
constexpr double kSmokeTier = 1;

// A contract's line without its name, in one canonical text.
std::string Canonical(const verify::Requirement& r) {
  std::string out;
  formats::JsonWriter w(&out);
  const auto maybe = [&](const char* key, const std::optional<double>& value) {
    if (value.has_value()) w.Key(key), w.Number(*value);
  };
  w.BeginObject();
  w.Key("kind"), w.Int(static_cast<int64_t>(r.kind));
  w.Key("tensor"), w.String(r.tensor);
  w.Key("close"), w.BeginArray();
  for (const auto& close : r.close) {
    w.BeginArray();
    if (close.has_value()) w.Number(close->atol), w.Number(close->rtol);
    w.EndArray();
  }
  w.EndArray();
  w.Key("types"), w.BeginArray();
  for (const verify::NumberType type : r.types) w.Int(static_cast<int64_t>(type));
  w.EndArray();
  maybe("max_abs", r.max_abs), maybe("cosine", r.cosine), maybe("max_rel", r.max_rel);
  maybe("rel_l2", r.rel_l2), maybe("at_least", r.at_least), maybe("at_most", r.at_most);
  w.Key("metric"), w.String(r.metric);
  w.EndObject();
  return out;
}

class Asking {
 public:
  Asking(const Recipe& recipe, const Subject& subject) : recipe_(recipe), subject_(subject) {}

  StatusOr<std::vector<AskedItem>> Run() {
    Same("rules", subject_.rules.digest());
    Same("inputs", subject_.inputs.digest);
    AtLeast("run.repeats", static_cast<double>(recipe_.repeats));
    AtLeast("envelope.batch", static_cast<double>(recipe_.envelope.batch));
    AtLeast("envelope.context", static_cast<double>(recipe_.envelope.context));
    AtLeast("envelope.horizon", static_cast<double>(recipe_.envelope.horizon));
    PLINTH_RETURN_IF_ERROR(subject_.session != nullptr ? AskModel() : AskCaptures());
    PLINTH_RETURN_IF_ERROR(AskTask());
    for (const verify::Requirement& r : subject_.requirements.records) {
      PLINTH_ASSIGN_OR_RETURN(const std::string digest, Sha256Hex(Canonical(r)));
      Same(StrCat("requirement.", r.name), digest);
    }
    PLINTH_RETURN_IF_ERROR(AskSpeed());
    return std::move(asked_);
  }

 private:
  // What is not there is not asked.
  void Same(std::string id, std::string text) {
    if (!text.empty()) asked_.push_back({std::move(id), Covers::kSame, std::move(text), 0});
  }
  void AtLeast(std::string id, double number) {
    asked_.push_back({std::move(id), Covers::kAtLeast, "", number});
  }
  Status SameFile(std::string id, const std::string& path) {
    if (path.empty()) return absl::OkStatus();
    PLINTH_ASSIGN_OR_RETURN(std::string digest, Sha256OfFile(path));
    Same(std::move(id), std::move(digest));
    return absl::OkStatus();
  }

  Status AskModel() {
    AtLeast("operators.tier", kSmokeTier);
    if (recipe_.cases.empty()) return absl::OkStatus();
    const size_t slash = recipe_.cases.rfind('/');
    const std::string folder = slash == std::string::npos ? "." : recipe_.cases.substr(0, slash);
    // As sha256sum lists them, but for their folder.
    std::string list;
    for (const std::string& path :
         {recipe_.cases, JoinPath(folder, "cases.safetensors"), JoinPath(folder, "layers.safetensors")}) {
      if (!FileExists(path)) continue;
      PLINTH_ASSIGN_OR_RETURN(const std::string digest, Sha256OfFile(path));
      StrAppend(&list, digest, "  ", BaseName(path), "\n");
    }
    PLINTH_ASSIGN_OR_RETURN(std::string digest, Sha256Hex(list));
    Same("layers.golden_cases", std::move(digest));
    return absl::OkStatus();
  }

  // The candidate's captures are what is judged; the incumbent's and the truth ask.
  Status AskCaptures() {
    for (const evidence::NamedDigest& capture : subject_.captures) {
      if (capture.name.starts_with("incumbent: ")) Same(StrCat("incumbent.", capture.sha256), "given");
    }
    Same("candidate.forced", subject_.candidate.at(0).at(0).info().forced ? "yes" : "no");
    if (recipe_.truth.empty()) return absl::OkStatus();
    PLINTH_ASSIGN_OR_RETURN(const auto truth, formats::OpenCaptures(recipe_.truth));
    for (const formats::Capture& capture : truth) {
      PLINTH_ASSIGN_OR_RETURN(const std::string digest,
                              Sha256OfFile(JoinPath(capture.folder(), "capture.json")));
      Same(StrCat("truth.", digest), "given");
    }
    return absl::OkStatus();
  }

  Status AskTask() {
    Same("task.kind", recipe_.task.kind);
    if (subject_.session != nullptr) Same("task.season", StrCat(subject_.inputs.season));
    for (const std::string& text : recipe_.Bands()) {
      PLINTH_ASSIGN_OR_RETURN(const auto band, verify::metrics::ParseBand(text));
      const bool relative = band.second.relative;
      asked_.push_back({StrCat("task.band.", band.first, relative ? ".relative" : ""), Covers::kAtMost, "",
                        band.second.amount});
    }
    PLINTH_RETURN_IF_ERROR(SameFile("task.labels", recipe_.task.labels));
    PLINTH_RETURN_IF_ERROR(SameFile("task.required", recipe_.task.required));
    PLINTH_RETURN_IF_ERROR(SameFile("task.rules", recipe_.task.rules));
    return SameFile("task.reference", recipe_.incumbent.predictions);
  }

  // Without an incumbent nothing is asked about speed.
  Status AskSpeed() {
    if (recipe_.incumbent.performance.empty()) return absl::OkStatus();
    PLINTH_RETURN_IF_ERROR(SameFile("performance.incumbent", recipe_.incumbent.performance));
    AtLeast("performance.at_least", recipe_.performance.at_least);
    if (subject_.session == nullptr) return absl::OkStatus();
    AtLeast("performance.seconds", recipe_.performance.seconds);
    for (const int64_t batch : recipe_.performance.batches)
      Same(StrCat("performance.batch.", batch), "asked");
    return absl::OkStatus();
  }

  const Recipe& recipe_;
  const Subject& subject_;
  std::vector<AskedItem> asked_;
};

}  // namespace

StatusOr<std::vector<AskedItem>> WhatIsAsked(const Recipe& recipe, const Subject& subject) {
  return Asking(recipe, subject).Run();
}

}  // namespace plinth::accept
