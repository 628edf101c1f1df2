#include "plinth/evidence/statement.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "plinth/base/digest.h"
#include "plinth/formats/json.h"
#include "plinth/formats/json_writer.h"

namespace plinth::evidence {
namespace {

using formats::JsonWriter;

Status Bad(std::string_view what) {
  return absl::InvalidArgumentError(StrCat("the unit of evidence: ", what));
}

Status CheckDigest(const NamedDigest& digest, std::string_view kind) {
  if (digest.name.empty() || !IsHexDigest(digest.sha256) ||
      !(digest.sm3.empty() || IsHexDigest(digest.sm3))) {
    return Bad(StrCat(kind, " ", formats::QuotedShort(digest.name),
                      " needs a name and 64 hex digits of sha256, and of sm3 where that is given"));
  }
  return absl::OkStatus();
}

Status CheckObject(const std::string& json, const std::string& what) {
  PLINTH_ASSIGN_OR_RETURN(const formats::JsonValue value, formats::ParseJson(json, what));
  if (value.object() == nullptr) return Bad(StrCat(what, " is not a JSON object"));
  return absl::OkStatus();
}

Status CheckAsked(const std::vector<AskedItem>& asked) {
  if (asked.empty()) return Bad("says nothing about what was asked");
  std::set<std::string_view> ids;
  for (const AskedItem& item : asked) {
    const bool same = item.covers == AskedItem::Covers::kSame;
    if (item.id.empty() || !ids.insert(item.id).second || (same ? item.text.empty() : false) ||
        !std::isfinite(item.number)) {
      return Bad(StrCat("what was asked, ", formats::QuotedShort(item.id),
                        ", needs an id of its own and a text or a finite number"));
    }
  }
  return absl::OkStatus();
}

Status CheckUnit(const Statement& s) {
  const Unit& unit = s.unit;
  const std::string* model = unit.identity.Find("model");
  if (unit.model_name.empty()) return Bad("the model has no name");
  if (model == nullptr || !IsHexDigest(*model)) {
    return Bad("part \"model\" of the identity must be the model's digest, 64 hex digits");
  }
  for (const int64_t size : {unit.envelope.batch, unit.envelope.context, unit.envelope.horizon}) {
    if (size < 1) return Bad("each size of the envelope must be 1 or more");
  }
  PLINTH_RETURN_IF_ERROR(CompactTime(unit.started).status());
  PLINTH_RETURN_IF_ERROR(CompactTime(unit.finished).status());
  for (size_t i = 0; i < kChecklistIds.size(); ++i) {
    if (unit.checklist[i].id == kChecklistIds[i]) continue;
    return Bad(StrCat("question ", i + 1, " has the id ", formats::QuotedShort(unit.checklist[i].id), "; \"",
                      kChecklistIds[i], "\" is expected"));
  }
  for (const auto& digest : unit.model_files) PLINTH_RETURN_IF_ERROR(CheckDigest(digest, "model file"));
  for (const auto& digest : unit.inputs) PLINTH_RETURN_IF_ERROR(CheckDigest(digest, "input"));
  for (const auto& digest : unit.preprocessing) PLINTH_RETURN_IF_ERROR(CheckDigest(digest, "preprocessing"));
  for (const auto& digest : unit.reference) PLINTH_RETURN_IF_ERROR(CheckDigest(digest, "reference"));
  PLINTH_RETURN_IF_ERROR(CheckAsked(unit.asked));
  if (!IsHexDigest(unit.rules_sha256)) return Bad("the rule set needs its sha256, 64 hex digits");
  if (!unit.tool.binary_sha256.empty() && !IsHexDigest(unit.tool.binary_sha256)) {
    return Bad("the program's sha256 must be 64 hex digits, or empty");
  }
  if (unit.repeats < 0) return Bad("the number of repeats is negative");
  for (const Waiver& waiver : unit.waivers) {
    if (waiver.subject.empty() || waiver.owner.empty() || waiver.reason.empty() || waiver.expires.empty()) {
      return Bad("a waiver needs a subject, an owner, a reason and the date on which it expires");
    }
  }
  if (!unit.performance_json.empty()) {
    PLINTH_RETURN_IF_ERROR(CheckObject(unit.performance_json, "the unit's performance"));
  }
  if (s.records.failures() > 0 && VerdictOf(unit.checklist) == Verdict::kPass) {
    return Bad(StrCat(s.records.failures(), " records failed, but every question is answered with yes"));
  }
  return absl::OkStatus();
}

void WriteDigest(JsonWriter& w, const NamedDigest& digest) {
  w.Key("digest");
  w.BeginObject();
  w.Key("sha256"), w.String(digest.sha256);
  if (!digest.sm3.empty()) w.Key("sm3"), w.String(digest.sm3);
  w.EndObject();
}

void WriteDigests(JsonWriter& w, std::string_view key, const std::vector<NamedDigest>& digests) {
  w.Key(key);
  w.BeginArray();
  for (const NamedDigest& digest : digests) {
    w.BeginObject();
    w.Key("name"), w.String(digest.name);
    WriteDigest(w, digest);
    w.EndObject();
  }
  w.EndArray();
}

// The model as a whole: in-toto's dirHash is the sha256 of the list that sha256sum prints, as the model's
// digest is.
void WriteModelSubject(JsonWriter& w, const Statement& s) {
  w.BeginObject();
  w.Key("name"), w.String(StrCat("model:", s.unit.model_name));
  w.Key("digest");
  w.BeginObject();
  w.Key("dirHash"), w.String(*s.unit.identity.Find("model"));
  w.EndObject();
  w.EndObject();
}

void WriteSubjects(JsonWriter& w, const Statement& s) {
  w.Key("subject");
  w.BeginArray();
  for (const CoveredFile& file : s.files) {
    w.BeginObject();
    w.Key("name"), w.String(file.digest.name);
    WriteDigest(w, file.digest);
    w.Key("annotations");
    w.BeginObject();
    w.Key("bytes"), w.Int(file.bytes);
    w.EndObject();
    w.EndObject();
  }
  WriteModelSubject(w, s);
  w.EndArray();
}

void WriteModel(JsonWriter& w, const Statement& s) {
  w.Key("model");
  w.BeginObject();
  w.Key("name"), w.String(s.unit.model_name);
  w.Key("digest"), w.String(StrCat("sha256:", *s.unit.identity.Find("model")));
  WriteDigests(w, "files", s.unit.model_files);
  w.EndObject();
  w.Key("identity");
  w.BeginObject();
  w.Key("digest"), w.String(StrCat("sha256:", s.identity));
  w.Key("parts");
  w.BeginArray();
  for (const auto& [name, value] : s.unit.identity.parts) {
    w.BeginObject();
    w.Key("name"), w.String(name);
    w.Key("value"), w.String(value);
    w.EndObject();
  }
  w.EndArray();
  w.EndObject();
  w.Key("envelope");
  w.BeginObject();
  w.Key("batch"), w.Int(s.unit.envelope.batch);
  w.Key("context"), w.Int(s.unit.envelope.context);
  w.Key("horizon"), w.Int(s.unit.envelope.horizon);
  w.EndObject();
}

void WriteAnswers(JsonWriter& w, const Unit& unit) {
  w.Key("checklist");
  w.BeginArray();
  for (const ChecklistItem& item : unit.checklist) {
    w.BeginObject();
    w.Key("id"), w.String(item.id);
    w.Key("question"), w.String(item.question);
    w.Key("answer"), w.String(AnswerName(item.answer));
    w.Key("text"), w.String(item.text);
    w.EndObject();
  }
  w.EndArray();
  w.Key("layers");
  w.BeginArray();
  for (const LayerResult& layer : unit.layers) {
    w.BeginObject();
    w.Key("name"), w.String(layer.name);
    w.Key("answer"), w.String(AnswerName(layer.answer));
    w.Key("text"), w.String(layer.text);
    w.EndObject();
  }
  w.EndArray();
}

void WriteAsked(JsonWriter& w, const std::vector<AskedItem>& asked) {
  w.Key("asked");
  w.BeginArray();
  for (const AskedItem& item : asked) {
    w.BeginObject();
    w.Key("id"), w.String(item.id);
    w.Key("covers"), w.String(CoversName(item.covers));
    w.Key("value");
    item.covers == AskedItem::Covers::kSame ? w.String(item.text) : w.Number(item.number);
    w.EndObject();
  }
  w.EndArray();
}

void WriteStanding(JsonWriter& w, const std::vector<StandingFailure>& standing) {
  w.Key("standing");
  w.BeginArray();
  for (const StandingFailure& failure : standing) {
    w.BeginObject();
    w.Key("finished"), w.String(failure.finished);
    w.Key("questions");
    w.BeginArray();
    for (const std::string& id : failure.questions) w.String(id);
    w.EndArray();
    w.Key("text"), w.String(failure.text);
    w.Key("reproduce"), w.String(failure.reproduce);
    WriteAsked(w, failure.asked);
    w.EndObject();
  }
  w.EndArray();
}

void WriteRecords(JsonWriter& w, const RecordCounts& records) {
  w.Key("records");
  w.BeginObject();
  w.Key("file"), w.String(kRecordsFile);
  w.Key("total"), w.Int(records.total);
  for (size_t i = 0; i < kRecordStatuses.size(); ++i) w.Key(kRecordStatuses[i]), w.Int(records.by_status[i]);
  w.EndObject();
}

void WriteTool(JsonWriter& w, const Tool& tool) {
  w.Key("tool");
  w.BeginObject();
  w.Key("name"), w.String(tool.name);
  w.Key("version"), w.String(tool.version);
  w.Key("commit"), w.String(tool.commit);
  w.Key("binary_sha256"), w.String(tool.binary_sha256);
  w.EndObject();
}

void WriteConditions(JsonWriter& w, const Statement& s) {
  const Unit& unit = s.unit;
  WriteDigests(w, "inputs", unit.inputs);
  WriteDigests(w, "preprocessing", unit.preprocessing);
  WriteDigests(w, "reference", unit.reference);
  w.Key("rules");
  w.BeginObject();
  w.Key("digest"), w.String(StrCat("sha256:", unit.rules_sha256));
  w.EndObject();
  WriteTool(w, unit.tool);
  w.Key("environment");
  w.BeginObject();
  w.Key("file"), w.String("environment.json");
  w.Key("digest"), w.String(StrCat("sha256:", s.environment_sha256));
  w.EndObject();
  w.Key("repeats"), w.Int(unit.repeats);
  w.Key("seeds");
  w.BeginArray();
  for (const int64_t seed : unit.seeds) w.Int(seed);
  w.EndArray();
  w.Key("waivers");
  w.BeginArray();
  for (const Waiver& waiver : unit.waivers) {
    w.BeginObject();
    w.Key("subject"), w.String(waiver.subject);
    w.Key("owner"), w.String(waiver.owner);
    w.Key("reason"), w.String(waiver.reason);
    w.Key("expires"), w.String(waiver.expires);
    w.EndObject();
  }
  w.EndArray();
}

void WriteRest(JsonWriter& w, const Unit& unit) {
  w.Key("performance");
  if (unit.performance_json.empty()) {
    w.Null();
  } else {
    w.Raw(unit.performance_json);
  }
  w.Key("limits");
  w.BeginArray();
  for (const std::string& limit : unit.limits) w.String(limit);
  w.EndArray();
  w.Key("reproduce"), w.String(unit.reproduce);
  w.Key("run"), w.String(unit.run);
  w.Key("started"), w.String(unit.started);
  w.Key("finished"), w.String(unit.finished);
}

bool IsGoodFileNamePart(std::string_view part) {
  return !part.empty() && part.size() <= 200 && part[0] != '.' &&
         std::all_of(part.begin(), part.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
                  c == '_' || c == '-';
         });
}

}  // namespace

bool IsGoodFileName(std::string_view name) {
  for (int depth = 1;; ++depth) {
    const size_t slash = name.find('/');
    if (depth > 8 || !IsGoodFileNamePart(name.substr(0, slash))) return false;
    if (slash == name.npos) return true;
    name.remove_prefix(slash + 1);
  }
}

std::string JsonText(const formats::JsonValue& value) {
  std::string out;
  JsonWriter w(&out);
  formats::WriteJson(value, w);
  return out;
}

StatusOr<std::string> StatementPayload(const Statement& s) {
  PLINTH_RETURN_IF_ERROR(CheckUnit(s));
  std::string out;
  JsonWriter w(&out);
  w.BeginObject();
  w.Key("_type"), w.String("https://in-toto.io/Statement/v1");
  WriteSubjects(w, s);
  w.Key("predicateType"), w.String(kPredicateType);
  w.Key("predicate");
  w.BeginObject();
  WriteModel(w, s);
  w.Key("verdict"), w.String(VerdictName(s.verdict));
  WriteAnswers(w, s.unit);
  WriteAsked(w, s.unit.asked);
  WriteStanding(w, s.unit.standing);
  WriteRecords(w, s.records);
  WriteConditions(w, s);
  WriteRest(w, s.unit);
  w.EndObject();
  w.EndObject();
  return out;
}

std::string TestResultPayload(const Statement& s) {
  std::string out;
  JsonWriter w(&out);
  w.BeginObject();
  w.Key("_type"), w.String("https://in-toto.io/Statement/v1");
  w.Key("subject");
  w.BeginArray();
  WriteModelSubject(w, s);
  w.EndArray();
  w.Key("predicateType"), w.String(kTestResultType);
  w.Key("predicate");
  w.BeginObject();
  constexpr std::array<std::string_view, 3> kResults = {"PASSED", "WARNED", "FAILED"};
  w.Key("result"), w.String(kResults[static_cast<size_t>(s.verdict)]);
  w.Key("configuration");
  w.BeginArray();
  const auto configuration = [&](std::string_view name, const std::string& sha256) {
    w.BeginObject();
    w.Key("name"), w.String(name);
    WriteDigest(w, {std::string(name), sha256, ""});
    w.EndObject();
  };
  configuration("rules.toml", s.unit.rules_sha256);
  configuration("numerics-identity", s.identity);
  configuration("environment.json", s.environment_sha256);
  w.EndArray();
  const auto tests = [&](std::string_view key, std::initializer_list<Answer> answers) {
    w.Key(key);
    w.BeginArray();
    if (key == "failedTests") {
      for (const StandingFailure& failure : s.unit.standing) {
        w.String(StrCat("failed at ", failure.finished, ": ", Join(failure.questions, " ")));
      }
    }
    for (const ChecklistItem& item : s.unit.checklist) {
      if (std::find(answers.begin(), answers.end(), item.answer) == answers.end()) continue;
      w.String(item.answer == Answer::kUnproven ? StrCat(item.id, ": unproven") : item.id);
    }
    w.EndArray();
  };
  tests("passedTests", {Answer::kYes});
  tests("warnedTests", {Answer::kWarned, Answer::kUnproven});
  tests("failedTests", {Answer::kNo});
  w.EndObject();
  w.EndObject();
  return out;
}

Status CheckTestResult(std::string_view payload, const Statement& statement, const std::string& where) {
  PLINTH_ASSIGN_OR_RETURN(const formats::JsonValue given, formats::ParseJson(payload, where));
  const std::string wanted_text = TestResultPayload(statement);
  PLINTH_ASSIGN_OR_RETURN(const formats::JsonValue wanted, formats::ParseJson(wanted_text, where));
  const auto differs = [&](const formats::JsonValue& a, const formats::JsonValue& b,
                           std::string_view key) -> Status {
    const formats::JsonValue *x = a.Find(key), *y = b.Find(key);
    if (x != nullptr && JsonText(*x) == JsonText(*y)) return absl::OkStatus();
    return absl::InvalidArgumentError(
        StrCat(where, ": \"", key, "\" is ", x == nullptr ? "missing" : formats::QuotedShort(JsonText(*x)),
               "; by the statement it is ", formats::QuotedShort(JsonText(*y))));
  };
  for (const char* key : {"_type", "predicateType", "subject"})
    PLINTH_RETURN_IF_ERROR(differs(given, wanted, key));
  const formats::JsonValue* predicate = given.Find("predicate");
  if (predicate == nullptr) return absl::InvalidArgumentError(StrCat(where, ": has no predicate"));
  for (const char* key : {"result", "configuration", "passedTests", "warnedTests", "failedTests"}) {
    PLINTH_RETURN_IF_ERROR(differs(*predicate, *wanted.Find("predicate"), key));
  }
  return absl::OkStatus();
}

}  // namespace plinth::evidence
