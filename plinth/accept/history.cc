#include "plinth/accept/history.h"

#include <algorithm>

#include "plinth/base/text.h"
#include "plinth/evidence/standing.h"
#include "plinth/formats/json_writer.h"
#include "plinth/plan/identity.h"

namespace plinth::accept {
namespace {

using evidence::Answer;
using evidence::Unit;

char SignOf(Answer answer) {
  switch (answer) {
    case Answer::kYes:
      return 'y';
    case Answer::kWarned:
      return 'w';
    case Answer::kNo:
      return 'N';
    case Answer::kUnproven:
      break;
  }
  return '-';
}

// The unit of the same model before this one that can be trusted; null where there is none.
const Unit* Before(const std::vector<PastUnit>& units, size_t i) {
  for (size_t k = i; k-- > 0;) {
    if (units[k].problem.empty() && units[k].evidence.unit.model_name == units[i].evidence.unit.model_name) {
      return &units[k].evidence.unit;
    }
  }
  return nullptr;
}

// Names of the parts of the identity that changed.
std::vector<std::string> ChangedParts(const Unit* before, const Unit& now) {
  std::vector<std::string> parts;
  if (before == nullptr) return parts;
  for (const plan::IdentityChange& change : plan::Changes(before->identity, now.identity)) {
    parts.push_back(change.part);
  }
  return parts;
}

// What stands after the last unit of this one's identity, where this is the last one; its own failure too.
std::vector<evidence::StandingFailure> StandingAtTheEnd(const std::vector<PastUnit>& units,
                                                        const PastUnit& unit) {
  for (const PastUnit& other : units) {
    if (!other.problem.empty() || other.evidence.identity != unit.evidence.identity) continue;
    if (&other > &unit) return {};  // oldest first
  }
  std::vector<evidence::StandingFailure> standing = unit.evidence.unit.standing;
  evidence::StandingFailure own = evidence::FailureOf(unit.evidence.unit);
  if (!own.questions.empty()) standing.insert(standing.begin(), std::move(own));
  return standing;
}

std::string Padded(std::string text, size_t width) {
  text.resize(std::max(width, text.size()), ' ');
  return text;
}

}  // namespace

StatusOr<std::vector<PastUnit>> ReadHistory(const std::string& root, const evidence::TrustedKeys& keys) {
  PLINTH_ASSIGN_OR_RETURN(const evidence::UnitFolders folders, evidence::ListUnits(root));
  if (folders.history.empty()) {
    return absl::NotFoundError(StrCat(
        root, ": holds no acceptance; `plinth accept` makes the first one, --evidence names another folder"));
  }
  std::vector<PastUnit> units;
  for (const std::string& folder : folders.history) {
    PastUnit unit;
    unit.folder = folder;
    evidence::Fault fault = evidence::Fault::kNone;
    auto opened = evidence::OpenEvidence(folder, keys, {}, &fault);
    if (opened.ok()) {
      unit.evidence = *std::move(opened);
    } else {
      if (fault == evidence::Fault::kNone) return opened.status();
      unit.problem = std::string(opened.status().message());
    }
    units.push_back(std::move(unit));
  }
  return units;
}

std::string HistoryText(const std::vector<PastUnit>& units) {
  size_t width = 5;
  for (const PastUnit& u : units) width = std::max(width, u.evidence.unit.model_name.size());
  std::string out =
      StrCat(Padded("finished", 26), Padded("model", width + 2), Padded("identity", 14), Padded("verdict", 9),
             Padded("EIOLTPR", 9), Padded("repeats", 9), "changed since\n");
  for (size_t i = 0; i < units.size(); ++i) {
    const PastUnit& u = units[i];
    if (!u.problem.empty()) {
      StrAppend(&out, "refused: ", u.problem, "\n");
      continue;
    }
    const Unit& unit = u.evidence.unit;
    std::string answers;
    for (const evidence::ChecklistItem& item : unit.checklist) answers += SignOf(item.answer);
    StrAppend(&out, Padded(unit.finished, 26), Padded(unit.model_name, width + 2),
              Padded(u.evidence.identity.substr(0, 12), 14),
              Padded(std::string(evidence::VerdictName(u.evidence.verdict)), 9), Padded(answers, 9),
              Padded(StrCat(unit.repeats), 9), Join(ChangedParts(Before(units, i), unit), ", "), "\n");
  }
  // Only the newest unit of an identity knows what stands.
  for (const PastUnit& u : units) {
    if (!u.problem.empty()) continue;
    for (const evidence::StandingFailure& f : StandingAtTheEnd(units, u)) {
      StrAppend(&out, "stands: the failure of ", f.finished, " (", f.text, "); ", f.reproduce, "\n");
    }
  }
  StrAppend(&out,
            "E environment, I inputs, O operators, L layers, T task, P performance, R repeatability;\n"
            "y yes, w with a warning, N no, - unproven\n");
  return out;
}

std::string HistoryJson(const std::vector<PastUnit>& units) {
  std::string out;
  formats::JsonWriter w(&out);
  for (size_t i = 0; i < units.size(); ++i) {
    const PastUnit& u = units[i];
    w.BeginObject();
    w.Key("folder"), w.String(u.folder);
    if (!u.problem.empty()) {
      w.Key("problem"), w.String(u.problem);
      w.EndObject(), w.EndLine();
      continue;
    }
    const Unit& unit = u.evidence.unit;
    w.Key("finished"), w.String(unit.finished);
    w.Key("model"), w.String(unit.model_name);
    w.Key("identity"), w.String(u.evidence.identity);
    w.Key("verdict"), w.String(evidence::VerdictName(u.evidence.verdict));
    w.Key("answers"), w.BeginObject();
    for (const evidence::ChecklistItem& item : unit.checklist) {
      w.Key(item.id), w.String(evidence::AnswerName(item.answer));
    }
    w.EndObject();
    w.Key("envelope"), w.BeginObject();
    w.Key("batch"), w.Int(unit.envelope.batch);
    w.Key("context"), w.Int(unit.envelope.context);
    w.Key("horizon"), w.Int(unit.envelope.horizon);
    w.EndObject();
    w.Key("repeats"), w.Int(unit.repeats);
    w.Key("standing"), w.BeginArray();
    for (const evidence::StandingFailure& f : unit.standing) w.String(f.finished);
    w.EndArray();
    w.Key("performance");
    unit.performance_json.empty() ? w.Null() : w.Raw(unit.performance_json);
    w.Key("self_attested"), w.Bool(u.evidence.self_attested);
    w.Key("changed"), w.BeginArray();
    for (const std::string& part : ChangedParts(Before(units, i), unit)) w.String(part);
    w.EndArray();
    w.Key("limits"), w.BeginArray();
    for (const std::string& limit : unit.limits) w.String(limit);
    w.EndArray();
    w.EndObject();
    w.EndLine();
  }
  return out;
}

}  // namespace plinth::accept
