#include "plinth/evidence/gate.h"

#include <algorithm>
#include <array>
#include <optional>

#include "plinth/base/files.h"
#include "plinth/evidence/standing.h"
#include "plinth/formats/json.h"

namespace plinth::evidence {
namespace {

constexpr char kSystemFolder[] = "/var/lib/plinth/evidence";

// How a shell takes the word as it stands.
std::string ShellWord(const std::string& text) {
  const bool plain = !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("/._-+,:@%").find(c) != std::string_view::npos;
  });
  if (plain) return text;
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

// "a batch of 64 (covered: up to 8)"; empty where the request is covered.
std::string Beyond(const Envelope& asked, const Envelope& covered) {
  std::vector<std::string> sizes;
  const auto compare = [&](const char* name, int64_t want, int64_t have) {
    if (want > have) sizes.push_back(StrCat("a ", name, " of ", want, " (covered: up to ", have, ")"));
  };
  compare("batch", asked.batch, covered.batch);
  compare("context", asked.context, covered.context);
  compare("horizon", asked.horizon, covered.horizon);
  return Join(sizes, ", ");
}

std::vector<std::string> Unanswered(const Unit& unit) {
  std::vector<std::string> ids;
  for (const ChecklistItem& item : unit.checklist) {
    if (item.answer == Answer::kUnproven && item.id != kOptionalItem) ids.push_back(item.id);
  }
  return ids;
}

std::string Refused(const Unit& unit) {
  for (const ChecklistItem& item : unit.checklist) {
    if (item.answer == Answer::kNo) return item.text.empty() ? item.id : StrCat(item.id, ": ", item.text);
  }
  return "";
}

// A failure of this identity that nothing has lifted.
void Fail(const StandingFailure& failure, std::string sentence, GateResult* result) {
  result->state = State::kFailed;
  result->sentence = std::move(sentence);
  if (!failure.reproduce.empty()) result->command = failure.reproduce;
}

// Roots whose units can be listed; one that cannot be read says nothing.
std::vector<std::string> Readable(const std::vector<std::string>& roots) {
  std::vector<std::string> readable;
  for (const std::string& root : roots) {
    if (ListUnits(root).ok()) readable.push_back(root);
  }
  return readable;
}

// What valid evidence for exactly this identity says about the request.
void Decide(const GateRequest& request, const Evidence& evidence, GateResult* result) {
  result->folder = evidence.folder;
  result->finished = evidence.unit.finished;
  result->self_attested = evidence.self_attested;
  const std::string whose = StrCat("the evidence of ", evidence.unit.finished);
  if (const std::string refused = Refused(evidence.unit); !refused.empty()) {
    Fail(FailureOf(evidence.unit), StrCat(whose, " says that it computes wrong: ", refused), result);
    return;
  }
  if (!evidence.unit.standing.empty()) {
    const StandingFailure& failure = evidence.unit.standing.front();
    Fail(failure, ToText(failure, evidence.unit), result);
    return;
  }
  if (const auto open = Unanswered(evidence.unit); !open.empty()) {
    result->sentence = StrCat(whose, " leaves unproven: ", Join(open, ", "));
    return;
  }
  if (const std::string beyond = Beyond(request.sizes, evidence.unit.envelope); !beyond.empty()) {
    result->sentence = StrCat(whose, " does not cover ", beyond);
    return;
  }
  result->state = State::kProven;
  result->covered = evidence.unit.envelope;
  result->sentence = StrCat(whose, " covers it", evidence.self_attested ? ", self-attested" : "",
                            evidence.verdict == Verdict::kWarn ? ", with warnings" : "");
  result->command.clear();
}

// The newest valid unit of the same model in another state.
std::optional<Evidence> NewestOfModel(const GateRequest& request, const TrustedKeys& keys) {
  std::optional<Evidence> newest;
  std::string newest_time;
  const std::string* model = request.identity.Find("model");
  for (const std::string& root : request.folders) {
    const auto units = ListUnits(root);
    if (!units.ok()) continue;
    for (const std::string& folder : units->newest) {
      auto evidence = OpenEvidence(folder, keys, {.statement_only = true});
      if (!evidence.ok()) continue;
      const std::string* theirs = evidence->unit.identity.Find("model");
      if (evidence->unit.model_name != request.model_name && (model == nullptr || *theirs != *model))
        continue;
      const auto time = CompactTime(evidence->unit.finished);
      if (!time.ok() || (newest && *time <= newest_time)) continue;
      newest_time = *time;
      newest = *std::move(evidence);
    }
  }
  return newest;
}

std::string ChangeText(const plan::IdentityChange& change) {
  // Digests differ anyhow; their beginnings tell them apart.
  const auto text = [](const std::string& value) {
    return value.empty()        ? std::string("nothing")
           : value.size() == 64 ? StrCat(value.substr(0, 12), "...")
                                : value;
  };
  return StrCat(change.part, " was ", text(change.before), ", is ", text(change.now));
}

}  // namespace

std::string_view StateName(State state) {
  constexpr std::array<std::string_view, 4> kNames = {"proven", "unproven", "stale", "failed"};
  return kNames[static_cast<size_t>(state)];
}

GateResult Check(const GateRequest& request, const TrustedKeys& keys) {
  GateResult result;
  result.command = StrCat("plinth accept --model ", ShellWord(request.model));
  if (!request.evidence.empty()) StrAppend(&result.command, " --evidence ", ShellWord(request.evidence));
  const auto identity = request.identity.Digest();
  if (!identity.ok()) {
    result.sentence = std::string(identity.status().message());
    return result;
  }
  result.identity = *identity;
  std::string refused;
  const std::vector<std::string> readable = Readable(request.folders);
  for (const std::string& root : request.folders) {
    const std::string folder = JoinPath(root, *identity);
    Fault fault = Fault::kNone;
    auto evidence = OpenEvidence(folder, keys, {.identity = *identity, .check_standing = false}, &fault);
    if (evidence.ok()) {
      // Failures count wherever they are told of.
      auto standing = StandingFailures(readable, *identity, &evidence->unit, keys);
      if (!standing.ok()) {
        result.sentence = std::string(standing.status().message());
        return result;
      }
      evidence->unit.standing = *std::move(standing);
      Decide(request, *evidence, &result);
      return result;
    }
    if (fault == Fault::kMissing && !IsFolder(folder)) continue;
    if (refused.empty()) refused = std::string(evidence.status().message()), result.folder = folder;
  }
  if (const auto standing = StandingFailures(readable, *identity, nullptr, keys);
      standing.ok() && !standing->empty()) {
    const StandingFailure& failure = standing->front();
    result.finished = failure.finished;
    Fail(failure,
         StrCat("the evidence of ", failure.finished, " says that it computes wrong: ", failure.text),
         &result);
    return result;
  }
  if (!refused.empty()) {
    result.sentence = refused;
    return result;
  }
  if (const auto other = NewestOfModel(request, keys); other) {
    const auto changes = Changes(other->unit.identity, request.identity);
    result.state = State::kStale;
    result.folder = other->folder;
    result.finished = other->unit.finished;
    result.self_attested = other->self_attested;
    result.sentence = StrCat("the evidence of ", other->unit.finished,
                             " is for another state: ", Join(changes, "; ", ChangeText));
    return result;
  }
  result.sentence = "no acceptance has left evidence for this model, device and precision";
  return result;
}

std::vector<std::string> SearchFolders(const std::string& wanted, const std::string& model_folder) {
  std::vector<std::string> folders;
  if (!wanted.empty()) folders.push_back(wanted);
  folders.push_back(kSystemFolder);
  folders.push_back(JoinPath(model_folder, "evidence"));
  return folders;
}

}  // namespace plinth::evidence
