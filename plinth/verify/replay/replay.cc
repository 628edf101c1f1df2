#include "plinth/verify/replay/replay.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "plinth/base/pattern.h"
#include "plinth/formats/json_writer.h"
#include "plinth/verify/replay/given_reference.h"
#include "plinth/verify/replay/own_reference.h"
#include "plinth/verify/replay/three_ways.h"
#include "plinth/verify/replay/uses.h"
#include "plinth/verify/replay/variants.h"
#include "plinth/verify/rules.h"

namespace plinth::verify::replay {
namespace {

using formats::Capture;
using Place = std::pair<std::string, int64_t>;  // name and step

// Captures of one thing: where both say what they are of, they agree.
Status CheckOneThing(const Capture& a, const Capture& b) {
  const auto differ = [](const std::string& x, const std::string& y) {
    return !x.empty() && !y.empty() && x != y;
  };
  if (differ(a.info().inputs_digest, b.info().inputs_digest)) {
    return absl::InvalidArgumentError(StrCat(
        b.folder(), ": inputs.digest is ", b.info().inputs_digest.substr(0, 12), "…, that of ", a.folder(),
        " ", a.info().inputs_digest.substr(0, 12), "…; captures of the same inputs are needed"));
  }
  if (differ(a.info().model_digest, b.info().model_digest)) {
    return absl::InvalidArgumentError(StrCat(
        b.folder(), ": model.digest is ", b.info().model_digest.substr(0, 12), "…, that of ", a.folder(), " ",
        a.info().model_digest.substr(0, 12), "…; captures of the same model are needed"));
  }
  return absl::OkStatus();
}

// One side of the comparison.
struct Side {
  const Capture* capture = nullptr;
  std::vector<OpUse> uses;
  std::map<Place, size_t> by_place;
  bool own = false;  // Plinth's operators

  static StatusOr<Side> Make(const Capture* capture) {
    Side side;
    side.capture = capture;
    if (capture == nullptr) return side;
    PLINTH_ASSIGN_OR_RETURN(side.uses, UsesOf(*capture));
    for (size_t i = 0; i < side.uses.size(); ++i) side.by_place[{side.uses[i].name, side.uses[i].step}] = i;
    side.own = ProducerOf(*capture) == "plinth";
    return side;
  }
  const OpUse* Find(const OpUse& use) const {
    const auto found = by_place.find({use.name, use.step});
    return found == by_place.end() ? nullptr : &uses[found->second];
  }
};

bool Recorded(const OpUse& use, size_t port) {
  return port < use.outputs.size() && use.outputs[port].values.has_value();
}

std::string TextOf(const formats::JsonValue& value) {
  std::string text;
  formats::JsonWriter w(&text);
  formats::WriteJson(value, w);
  return text;
}

// The first attribute that both sides name and that has another value: "eps is 0.01, the incumbent's is
// 1e-05". Empty where there is none. Frameworks may leave out what is a default.
std::string ChangedAttribute(const OpUse& use, const OpUse& other) {
  if (use.op != other.op) return "";
  for (const auto& [name, value] : use.attributes) {
    for (const auto& [their_name, theirs] : other.attributes) {
      if (name != their_name || TextOf(theirs) == TextOf(value)) continue;
      return StrCat("attribute ", name, " is ", TextOf(value), ", the incumbent's is ", TextOf(theirs));
    }
  }
  return "";
}

class Replayer {
 public:
  Replayer(const Context& context, const ReplayOptions& options, const RowSink& sink)
      : context_(context), options_(options), sink_(sink) {}

  Status Open(const Capture& candidate, const Capture* incumbent, const Capture* truth) {
    if (incumbent != nullptr) PLINTH_RETURN_IF_ERROR(CheckOneThing(candidate, *incumbent));
    if (truth != nullptr) PLINTH_RETURN_IF_ERROR(CheckOneThing(candidate, *truth));
    if (truth != nullptr && !ComputedFromInputs(*truth)) {
      return absl::InvalidArgumentError(
          StrCat(truth->folder(),
                 ": is a run of its own, whose operators had other inputs; what `python -m plinth_capture "
                 "reference` computes from the captured inputs is expected (a run in double belongs to "
                 "`plinth compare --truth`)"));
    }
    PLINTH_ASSIGN_OR_RETURN(rules_, RuleSet::Builtin());
    // The shipped rules do not change while the program runs.
    static const std::string missed = SelfTest(*rules_);
    mistrust_ = missed;
    PLINTH_ASSIGN_OR_RETURN(candidate_, Side::Make(&candidate));
    PLINTH_ASSIGN_OR_RETURN(incumbent_, Side::Make(incumbent));
    PLINTH_ASSIGN_OR_RETURN(truth_, Side::Make(truth));
    return absl::OkStatus();
  }

  StatusOr<Summary> Run() {
    for (const OpUse& use : candidate_.uses) {
      if (!Wanted(use)) continue;
      for (size_t port = 0; port < use.outputs.size(); ++port) {
        if (options_.interrupted && options_.interrupted()) return absl::CancelledError("interrupted");
        if (use.outputs[port].recorded) One(use, port);
      }
      ReleasePages(use);
    }
    Missing();
    return summary_;
  }

 private:
  // A module is judged where the user gave a truth for it; its operators stand for it elsewhere.
  bool Wanted(const OpUse& use) const {
    if (!MatchesStars(options_.name, use.name)) return false;
    if (!options_.ops.empty() &&
        std::find(options_.ops.begin(), options_.ops.end(), use.op) == options_.ops.end()) {
      return false;
    }
    return (use.op != "module" && use.op != "multihead_attention") || truth_.Find(use) != nullptr;
  }

  void One(const OpUse& use, size_t port) {
    CheckRow row = RowOf(use, port);
    ThreeWays ways;
    if (!Recorded(use, port)) {
      ways.why_no_truth = StrCat("output ", port, " was taken as statistics only; capture it in full");
      FillRow(*rules_, ways, row);
      return Report(row);
    }
    ways.format = use.out(port).format();
    row.dtype = ways.format.name;
    if (use.out(port).size() == 0) {
      row.status = CheckStatus::kPassed;  // and not counted as compared
      row.detail = "the output is empty";
      return Report(row);
    }
    const Arithmetic arithmetic = ArithmeticOf(candidate_.capture->info().precision, use, port);
    ways.precision = arithmetic.name;
    JudgeCandidate(use, port, arithmetic, ways);
    const OpUse* other = incumbent_.Find(use);
    if (other != nullptr) JudgeIncumbent(use, *other, port, ways);
    FillRow(*rules_, ways, row);
    // Right by its own attributes, and yet another operator than the incumbent's.
    const std::string changed = other == nullptr ? "" : ChangedAttribute(use, *other);
    if (!changed.empty() && row.status != CheckStatus::kFailed) {
      row.status = CheckStatus::kFailed;
      row.detail = changed;
    }
    if (row.status == CheckStatus::kPassed && ways.candidate->sampled()) {
      row.detail = StrCat("a choice of ", ways.candidate->stats.judged, " of ", ways.candidate->elements,
                          " elements was recomputed", row.detail.empty() ? "" : "; ", row.detail);
    }
    Report(row);
  }

  void JudgeCandidate(const OpUse& use, size_t port, const Arithmetic& arithmetic, ThreeWays& ways) {
    StatusOr<std::unique_ptr<Reference>> reference = TruthOf(candidate_, use, port, arithmetic, ways.truth);
    if (!reference.ok()) {
      // Attributes of operators outside the table may be written in a way that we misread.
      const bool known = IsDocumented(use.op) || Own(candidate_, use) || ways.truth == "given";
      ways.wrong_use = known && reference.status().code() == absl::StatusCode::kInvalidArgument;
      ways.truth = "none";
      ways.why_no_truth = std::string(reference.status().message());
      return;
    }
    ways.candidate = Judge(**reference, use.out(port), arithmetic, options_.budget, *context_.threads);
    if (!ways.candidate->holds() && ways.truth == "reference" && !Own(candidate_, use)) {
      ways.fault = ExplainFault(use, port, arithmetic, *ways.candidate, *context_.threads);
    }
  }

  void JudgeIncumbent(const OpUse& use, const OpUse& other, size_t port, ThreeWays& ways) {
    if (!Recorded(other, port)) return;
    ways.pair = ComparePair(use.out(port), other.out(port));
    ways.pair->same_inputs = SameInputs(use, other);
    const NumberFormat &c = use.out(port).format(), &n = other.out(port).format();
    // Wider than the incumbent is no fault.
    if (c.floating && n.floating && !c.eight_bits && c.roundoff() < n.roundoff()) ways.pair->same_type = true;
    if (!ways.candidate.has_value()) return;
    const Arithmetic arithmetic = ArithmeticOf(incumbent_.capture->info().precision, other, port);
    std::string truth;
    const StatusOr<std::unique_ptr<Reference>> reference =
        TruthOf(incumbent_, other, port, arithmetic, truth);
    if (!reference.ok()) return;
    // A user's truth holds for the candidate's inputs.
    if (truth == "given" && !ways.pair->same_inputs) return;
    ways.incumbent = Judge(**reference, other.out(port), arithmetic, options_.budget, *context_.threads);
  }

  static bool Own(const Side& side, const OpUse& use) { return side.own && IsOwnOperator(use.op); }

  // The user's truth where there is one, else our reference.
  StatusOr<std::unique_ptr<Reference>> TruthOf(const Side& side, const OpUse& use, size_t port,
                                               const Arithmetic& arithmetic, std::string& kind) const {
    if (const OpUse* given = truth_.Find(use); given != nullptr && Recorded(*given, port)) {
      kind = "given";
      return MakeGivenReference(use, port, given->out(port), arithmetic);
    }
    kind = "reference";
    return Own(side, use) ? MakeOwnReference(use, port, arithmetic) : MakeReference(use, port, arithmetic);
  }

  CheckRow RowOf(const OpUse& use, size_t port) const {
    CheckRow row;
    row.case_name = use.step == 0 ? use.name : StrCat(use.name, "@", use.step);
    row.output = StrCat("y", port);
    row.op = use.op;
    row.mode = "replay";
    row.reproduce = StrCat(options_.command, " --name ", ShellQuoted(use.name));
    return row;
  }

  void Missing() {
    if (incumbent_.capture == nullptr || ProducerOf(*incumbent_.capture) != ProducerOf(*candidate_.capture))
      return;
    for (const OpUse& use : incumbent_.uses) {
      if (!Wanted(use) || candidate_.Find(use) != nullptr) continue;
      CheckRow row = RowOf(use, 0);
      row.status = CheckStatus::kMissing;
      row.detail = "the incumbent has this operator, the candidate has not";
      Report(row);
    }
  }

  void Report(CheckRow row) {
    // A rule set that overlooks planted faults proves nothing.
    if (!mistrust_.empty() && row.status != CheckStatus::kFailed && row.status != CheckStatus::kMissing) {
      row.status = CheckStatus::kMistrusted;
      row.detail = StrCat("the rule set's self-test: ", mistrust_);
    }
    summary_.Add(row);
    sink_(row);
  }

  void ReleasePages(const OpUse& use) const {
    for (const Side* side : {&candidate_, &incumbent_, &truth_}) {
      const OpUse* own = side->capture == nullptr ? nullptr : side->Find(use);
      if (own == nullptr) continue;
      for (const auto* ports : {&own->inputs, &own->outputs}) {
        for (const UsePort& port : *ports) {
          const formats::CaptureEntry* entry =
              port.values.has_value() ? side->capture->Find(port.key) : nullptr;
          if (entry != nullptr) side->capture->ReleasePages(*entry);
        }
      }
    }
  }

  const Context& context_;
  const ReplayOptions& options_;
  const RowSink& sink_;
  Side candidate_, incumbent_, truth_;
  std::optional<RuleSet> rules_;
  std::string mistrust_;  // what the rule set's self-test missed
  Summary summary_;
};

}  // namespace

bool ComputedFromInputs(const Capture& truth) {
  const auto is = [&](std::string_view key, std::string_view text) {
    const formats::JsonValue* value = truth.info().producer.Find(key);
    return value != nullptr && value->text() != nullptr && *value->text() == text;
  };
  return !is("kind", "pytorch") && !is("name", "plinth");
}

StatusOr<Summary> Replay(const Context& context, const Capture& candidate, const Capture* incumbent,
                         const Capture* truth, const ReplayOptions& options, const RowSink& sink) {
  Replayer replayer(context, options, sink);
  PLINTH_RETURN_IF_ERROR(replayer.Open(candidate, incumbent, truth));
  return replayer.Run();
}

}  // namespace plinth::verify::replay
