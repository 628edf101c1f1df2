#include "plinth/verify/locate.h"

#include <algorithm>
#include <map>
#include <utility>

#include "plinth/base/files.h"
#include "plinth/base/temporary_folder.h"
#include "plinth/verify/drift_search.h"

namespace plinth::verify {
namespace {

using formats::Capture;

std::string Framework(const Capture& capture) {
  const formats::JsonValue* name = capture.info().producer.Find("framework");
  return name != nullptr && name->text() != nullptr ? *name->text() : "";
}

// "abcdef0123456789..." of a digest.
std::string Short(const std::string& digest) { return digest.substr(0, 16) + "..."; }

// The same model and inputs as the first reference. Digests of inputs are made in two ways by two frameworks
// (files, tensors), so that theirs say nothing.
Status CheckSame(const Capture& a, const Capture& b, const LocateOptions& options,
                 std::vector<std::string>* notes) {
  const auto differ = [](const std::string& x, const std::string& y) {
    return !x.empty() && !y.empty() && x != y;
  };
  if (!options.any_model && differ(a.info().model_digest, b.info().model_digest)) {
    return absl::InvalidArgumentError(
        StrCat(b.folder(), ": is of another model: \"", b.info().model_name, "\" with digest ",
               Short(b.info().model_digest), ", and ", a.folder(), " of \"", a.info().model_name, "\" with ",
               Short(a.info().model_digest),
               "; captures of one model are expected (--any-model compares all the same)"));
  }
  if (options.any_inputs || !differ(a.info().inputs_digest, b.info().inputs_digest)) return absl::OkStatus();
  if (Framework(a) != Framework(b)) {
    notes->push_back(StrCat("digests of inputs cannot be compared between ", Framework(a), " and ",
                            Framework(b), "; that both ran the same series is taken on trust"));
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      StrCat(b.folder(), ": is of other inputs, with digest ", Short(b.info().inputs_digest), ", and ",
             a.folder(), " of ", Short(a.info().inputs_digest),
             "; captures of the same inputs are expected (--any-inputs compares all the same)"));
}

// Captures by rank.
StatusOr<std::map<int64_t, RunCaptures>> ByRank(const std::vector<Capture>& captures,
                                                const std::string& folder, int64_t world) {
  std::map<int64_t, RunCaptures> ranks;
  for (const Capture& capture : captures) {
    if (capture.info().world != world) {
      return absl::InvalidArgumentError(StrCat(capture.folder(), ": is of a run on ", capture.info().world,
                                               " ranks, and the first capture of one on ", world,
                                               "; captures of equal ranks are expected"));
    }
    RunCaptures& run = ranks[capture.info().rank];
    (capture.info().forced ? run.forced : run.free).push_back(&capture);
  }
  for (int64_t rank = 0; rank < world; ++rank) {
    if (ranks.contains(rank)) continue;
    return absl::InvalidArgumentError(
        StrCat(folder, ": lacks rank ", rank, " of ", world, "; every rank has a capture of its own"));
  }
  return ranks;
}

// The whole search, with the captures that it borrows from.
class Locator {
 public:
  explicit Locator(const LocateOptions& options) : options_(options) {}

  StatusOr<LocateResult> Run() {
    PLINTH_ASSIGN_OR_RETURN(reference_, formats::OpenCaptures(options_.reference));
    PLINTH_ASSIGN_OR_RETURN(output_, formats::OpenCaptures(options_.output));
    for (const auto* side : {&reference_, &output_}) {
      for (const Capture& capture : *side) {
        PLINTH_RETURN_IF_ERROR(CheckSame(reference_[0], capture, options_, &result_.notes));
      }
    }
    if (!options_.map.empty()) {
      if (options_.rerun) {
        return absl::InvalidArgumentError(
            "a map renames what was captured, not the modules of a model that runs here; give one of both");
      }
      PLINTH_ASSIGN_OR_RETURN(TensorMap map, TensorMap::Load(options_.map));
      map_ = std::make_unique<TensorMap>(std::move(map));
    }
    PLINTH_RETURN_IF_ERROR(VerifyDigests());
    const int64_t world = reference_[0].info().world;
    PLINTH_ASSIGN_OR_RETURN(auto references, ByRank(reference_, options_.reference, world));
    PLINTH_ASSIGN_OR_RETURN(auto outputs, ByRank(output_, options_.output, world));
    for (auto& [rank, reference] : references) {
      if (reference.free.empty()) {
        return absl::InvalidArgumentError(
            StrCat(options_.reference, ": holds forced runs alone; the reference is a free-running one"));
      }
      PLINTH_RETURN_IF_ERROR(SearchRank(rank, reference, outputs[rank]));
    }
    if (result_.compared == 0) return NothingInCommon();
    if (options_.rerun) PLINTH_RETURN_IF_ERROR(Confirm());
    PlanNext();
    PLINTH_RETURN_IF_ERROR(runs_->problem());
    return std::move(result_);
  }

 private:
  // What was changed after it was captured says nothing, and equal digests would hide it.
  Status VerifyDigests() {
    int64_t bytes = 0;
    for (const auto* side : {&reference_, &output_}) {
      for (const Capture& capture : *side) {
        for (const formats::CaptureEntry& entry : capture.entries()) {
          const formats::ConstTensorRef* tensor = capture.Tensor(entry);
          if (tensor != nullptr) bytes += tensor->bytes;
        }
      }
    }
    check_as_read_ = bytes > options_.verified_bytes;
    if (check_as_read_) {
      result_.notes.emplace_back(
          "only tensors that were compared were held against their digests; `plinth compare --digest` hashes "
          "all");
      return absl::OkStatus();
    }
    for (const auto* side : {&reference_, &output_}) {
      for (const Capture& capture : *side) PLINTH_RETURN_IF_ERROR(capture.VerifyDigests());
    }
    return absl::OkStatus();
  }

  Status NothingInCommon() const {
    const auto& a = reference_[0].entries();
    const auto& b = output_[0].entries();
    const auto name = [](const auto& entries) {
      return entries.empty() ? std::string("nothing") : formats::QuotedShort(entries[0].Key());
    };
    return absl::InvalidArgumentError(StrCat(
        options_.reference, " and ", options_.output,
        " have nothing in common that can be compared: the one begins with ", name(a), ", the other with ",
        name(b), "; entries of equal name, direction, port and step are expected"));
  }

  // Searches one rank; the worst one stays in the result: that which drifts in the earliest layer.
  Status SearchRank(int64_t rank, const RunCaptures& reference, const RunCaptures& output) {
    PLINTH_ASSIGN_OR_RETURN(auto runs,
                            PairedRuns::Make(reference, output, options_.lines, map_.get(), check_as_read_));
    auto search = std::make_unique<DriftSearch>(*runs, options_.stride);
    LocateResult found;
    search->Run(&found);
    PLINTH_RETURN_IF_ERROR(runs->problem());
    found.notes.insert(found.notes.end(), runs->notes().begin(), runs->notes().end());
    int64_t compared = result_.compared + static_cast<int64_t>(found.layers.size());
    int64_t looks = std::max(result_.looks, found.looks);
    const bool better = !runs_ || (found.first_drift.has_value() &&
                                   (!result_.first_drift.has_value() || search->found() < search_->found()));
    if (better) {
      found.notes.insert(found.notes.begin(), result_.notes.begin(), result_.notes.end());
      result_ = std::move(found);
      if (result_.first_drift.has_value()) result_.first_drift->rank = rank;
      runs_ = std::move(runs);
      search_ = std::move(search);
      pair_reference_ = reference;
      pair_output_ = output;
    }
    result_.compared = compared;
    result_.looks = looks;
    return absl::OkStatus();
  }

  // ---- with the candidate at hand ----

  Status Confirm() {
    if (reference_[0].info().world > 1) {
      result_.confirmation_text = "a run on several ranks cannot be repeated here";
      return absl::OkStatus();
    }
    PLINTH_ASSIGN_OR_RETURN(TemporaryFolder folder, TemporaryFolder::Make());
    const Capture& reference = *pair_reference_.free[0];
    if (result_.first_drift.has_value() && pair_output_.forced.empty()) {
      PLINTH_RETURN_IF_ERROR(AddForced(reference, JoinPath(folder.path(), "forced")));
    }
    if (!result_.first_drift.has_value()) return absl::OkStatus();
    return ConfirmByReplacement(reference, folder.path());
  }

  bool HasTensors(const Capture& capture) const {
    const auto& entries = capture.entries();
    return std::any_of(entries.begin(), entries.end(), [&](const formats::CaptureEntry& e) {
      return capture.Tensor(e) != nullptr && e.op != "input" && e.op != "output";
    });
  }

  StatusOr<Capture> RunAgain(const Rerun& rerun, const std::string& folder) {
    PLINTH_RETURN_IF_ERROR(options_.rerun(rerun, folder));
    PLINTH_ASSIGN_OR_RETURN(Capture capture, Capture::Open(folder));
    PLINTH_RETURN_IF_ERROR(CheckSame(reference_[0], capture, options_, &result_.notes));
    return capture;
  }

  // Separates each layer's own error from what came in, by a run made here.
  Status AddForced(const Capture& reference, const std::string& folder) {
    if (!HasTensors(reference)) {
      result_.notes.push_back(StrCat(reference.folder(),
                                     ": holds no tensor of a module, so that errors of single "
                                     "layers cannot be separated; a reference captured in full can"));
      return absl::OkStatus();
    }
    PLINTH_ASSIGN_OR_RETURN(Capture forced,
                            RunAgain({.forced_by = &reference, .reference = &reference}, folder));
    here_.push_back(std::make_unique<Capture>(std::move(forced)));
    RunCaptures output = pair_output_;
    output.forced.push_back(here_.back().get());
    LocateResult before = std::move(result_);
    result_ = {};
    result_.notes = std::move(before.notes);
    result_.notes.emplace_back("errors of single layers are those of a run made here");
    runs_.reset();
    PLINTH_RETURN_IF_ERROR(SearchRank(0, pair_reference_, output));
    result_.compared = before.compared;
    return absl::OkStatus();
  }

  // The smallest module around the drift whose reference tensor is there.
  std::string ReplaceName(const Capture& reference) const {
    const FirstDrift& first = *result_.first_drift;
    const Layer& layer = search_->layers()[search_->found()];
    for (const std::string& name :
         {std::string(ModulePath(first.name)), first.module, runs_->pairs()[layer.output].name}) {
      formats::CaptureEntry wanted;
      wanted.name = name;
      wanted.step = first.step;
      const auto* entry = name.empty() ? nullptr : reference.Find(wanted.Key());
      if (entry != nullptr && reference.Tensor(*entry) != nullptr) return name;
    }
    return "";
  }

  Status ConfirmByReplacement(const Capture& reference, const std::string& folder) {
    const FirstDrift& first = *result_.first_drift;
    const std::string name = ReplaceName(reference);
    if (name.empty()) {
      result_.confirmation_text = StrCat("the reference holds no tensor of ", first.module,
                                         " to put back; a reference captured in full there is needed");
      return absl::OkStatus();
    }
    PLINTH_ASSIGN_OR_RETURN(const Capture plain,
                            RunAgain({.reference = &reference}, JoinPath(folder, "free")));
    const size_t at = search_->found();
    PLINTH_ASSIGN_OR_RETURN(const auto here, StillDrifts(reference, plain, at, at + 1));
    if (!here.has_value()) {
      result_.confirmation = Confirmation::kNotSeenHere;
      result_.confirmation_text =
          StrCat("a run made here agrees with the reference at ", first.module,
                 ": the drift belongs to the machine or build that made ", options_.output);
      return absl::OkStatus();
    }
    PLINTH_ASSIGN_OR_RETURN(const Capture mended, RunAgain({.replaced = name, .reference = &reference},
                                                           JoinPath(folder, "replaced")));
    const bool whole = name == runs_->pairs()[search_->layers()[at].output].name;
    PLINTH_ASSIGN_OR_RETURN(const auto next,
                            StillDrifts(reference, mended, whole ? at + 1 : at, search_->layers().size()));
    result_.confirmation = next.has_value() ? Confirmation::kNotRepaired : Confirmation::kRepaired;
    result_.confirmation_text =
        next.has_value()
            ? StrCat("not repaired: with the reference put back at ", name, ", ", *next,
                     " still drifts, so that something else is wrong too")
            : StrCat("confirmed: with the reference put back at ", name, ", all that follows agrees");
    return absl::OkStatus();
  }

  // The first of layers [begin, end) that drifts in `output`.
  StatusOr<std::optional<std::string>> StillDrifts(const Capture& reference, const Capture& output,
                                                   size_t begin, size_t end) {
    RunCaptures side;
    side.free.push_back(&output);
    RunCaptures all = pair_reference_;
    all.free[0] = &reference;
    PLINTH_ASSIGN_OR_RETURN(const auto made,
                            PairedRuns::Make(all, side, options_.lines, map_.get(), check_as_read_));
    PairedRuns& runs = *made;
    std::map<std::string, size_t> by_key;
    for (size_t p = 0; p < runs.pairs().size(); ++p) by_key[runs.pairs()[p].key] = p;
    for (size_t i = begin; i < end; ++i) {
      const auto at = by_key.find(runs_->pairs()[search_->layers()[i].output].key);
      if (at == by_key.end()) continue;
      const auto drift = runs.Look(at->second, false);
      if (!drift.has_value()) continue;
      result_.explored.push_back({runs.pairs()[at->second].name, Explored::What::kReplacement, *drift});
      if (drift->significant()) return std::optional(search_->layers()[i].module);
    }
    PLINTH_RETURN_IF_ERROR(runs.problem());
    return std::optional<std::string>();
  }

  // ---- what to capture next ----

  void PlanNext() {
    if (!result_.first_drift.has_value()) return;
    const FirstDrift& first = *result_.first_drift;
    auto& records = result_.next.records;
    if (!InputsAgree() && AddGap(first)) return;
    if (!InsideKnown(first)) {
      records.push_back({first.module, true, true, true, true});
      records.push_back({first.module + ".*", true, true, true, true});
      return;
    }
    if (result_.confirmation != Confirmation::kNotTried) return;
    records.push_back({"*", false, false, true, false});
    result_.next.replacements.push_back(
        {std::string(ModulePath(first.name)), pair_reference_.free[0]->folder()});
  }

  // Whether an operator, or a layer in which all that was recorded in full agrees, is known to drift first.
  bool InsideKnown(const FirstDrift& first) const {
    if (first.by != Drift::By::kTensors) return false;
    if (first.name != first.module || first.op != "module") return true;
    const Layer& layer = search_->layers()[search_->found()];
    return std::any_of(layer.pairs.begin(), layer.pairs.end(), [&](size_t p) {
      const Pair& pair = runs_->pairs()[p];
      return pair.direction == formats::CaptureDirection::kOutput && pair.name != first.module &&
             HasTensor(pair.key);
    });
  }
  bool HasTensor(const std::string& key) const {
    const formats::CaptureEntry* entry = pair_reference_.free[0]->Find(key);
    return entry != nullptr && pair_reference_.free[0]->Tensor(*entry) != nullptr;
  }

  // Whether what entered the layer was recorded and agrees, or its own error is known: then the drift begins
  // in it, and no layer before it needs to be looked at.
  bool InputsAgree() const {
    if (result_.first_drift->local.has_value() && !result_.first_drift->accumulated) return true;
    bool any = false;
    for (const size_t p : search_->layers()[search_->found()].pairs) {
      const Pair& pair = runs_->pairs()[p];
      if (pair.direction != formats::CaptureDirection::kInput) break;  // what comes before the first output
      const auto drift = runs_->Look(p, false);
      if (!drift.has_value() || drift->significant() || drift->by == Drift::By::kStatistics) return false;
      any = true;
    }
    return any;
  }

  // Layers of the stack between the last one that agrees and the first that drifts, where they were not
  // recorded. False where there are none.
  bool AddGap(const FirstDrift& first) {
    if (!first.layer.has_value()) return false;
    const std::string stack = first.module.substr(0, first.module.rfind('.') + 1);
    int64_t before = -1;
    for (const Layer& layer : search_->layers()) {
      const bool same =
          layer.step == first.step && layer.layer.has_value() && layer.module == StrCat(stack, *layer.layer);
      if (same && *layer.layer < *first.layer) before = std::max(before, *layer.layer);
    }
    for (int64_t i = before + 1; i <= *first.layer && before + 1 < *first.layer; ++i) {
      result_.next.records.push_back({StrCat(stack, i), false, false, true, false});
    }
    return before + 1 < *first.layer;
  }

  const LocateOptions& options_;
  std::vector<Capture> reference_, output_;
  std::vector<std::unique_ptr<Capture>> here_;  // runs made for the search
  RunCaptures pair_reference_, pair_output_;    // of the rank in the result
  std::unique_ptr<TensorMap> map_;              // null: none
  bool check_as_read_ = false;
  std::unique_ptr<PairedRuns> runs_;
  std::unique_ptr<DriftSearch> search_;
  LocateResult result_;
};

}  // namespace

StatusOr<LocateResult> Locate(const LocateOptions& options) { return Locator(options).Run(); }

}  // namespace plinth::verify
