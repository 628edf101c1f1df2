#include <algorithm>
#include <set>

#include "plinth/base/digest.h"
#include "plinth/evidence/environment.h"
#include "plinth/evidence/statement.h"
#include "plinth/formats/json.h"

namespace plinth::evidence {
namespace {

using formats::JsonValue;

constexpr size_t kMaxSubjects = 8192;

// Reads members of one object; the first error stays and everything after it is empty.
class Reader {
 public:
  Reader(const JsonValue& object, std::string place, Status* status)
      : object_(object), place_(std::move(place)), status_(status) {
    if (object.object() == nullptr)
      Fail(StrCat("is ", formats::ShortText(object), "; an object is expected"));
  }

  std::string Text(std::string_view key) const {
    const JsonValue* value = object_.Find(key);
    if (value != nullptr && value->text() != nullptr) return *value->text();
    Wrong(key, value, "text");
    return "";
  }
  int64_t Int(std::string_view key) const {
    const JsonValue* value = object_.Find(key);
    if (value != nullptr && value->integer() != nullptr && *value->integer() >= 0) return *value->integer();
    Wrong(key, value, "an integer from 0 on");
    return 0;
  }
  double Number(std::string_view key) const {
    const JsonValue* value = object_.Find(key);
    if (value != nullptr && value->real() != nullptr) return *value->real();
    if (value != nullptr && value->integer() != nullptr) return static_cast<double>(*value->integer());
    Wrong(key, value, "a number");
    return 0;
  }
  // "sha256:" and 64 hex digits; gives the digits.
  std::string Digest(std::string_view key) const {
    const std::string text = Text(key);
    if (text.starts_with("sha256:") && IsHexDigest(std::string_view(text).substr(7))) return text.substr(7);
    Wrong(key, object_.Find(key), "sha256: and 64 hex digits");
    return "";
  }
  Reader Object(std::string_view key) const {
    const JsonValue* value = object_.Find(key);
    return Reader(value == nullptr ? kNull : *value, StrCat(place_, ".", key), status_);
  }
  const JsonValue* Find(std::string_view key) const { return object_.Find(key); }
  // One call for each item of a list; stops at the first error.
  template <typename Take>
  void Each(std::string_view key, size_t limit, Take take) const {
    const JsonValue* value = object_.Find(key);
    const JsonValue::Array* items = value == nullptr ? nullptr : value->array();
    if (items == nullptr || items->size() > limit) {
      Wrong(key, value, StrCat("a list of at most ", limit));
      return;
    }
    for (size_t i = 0; i < items->size() && status_->ok(); ++i) {
      take((*items)[i], StrCat(place_, ".", key, "[", i, "]"));
    }
  }
  template <typename Take>
  void EachObject(std::string_view key, Take take) const {
    Each(key, kMaxSubjects, [&](const JsonValue& item, std::string place) {
      const Reader reader(item, std::move(place), status_);
      if (status_->ok()) take(reader);
    });
  }
  void Wrong(std::string_view key, const JsonValue* value, std::string_view expected) const {
    Fail(StrCat("\"", key, "\" is ", value == nullptr ? std::string("missing") : formats::ShortText(*value),
                "; ", expected, " is expected"));
  }
  void Fail(std::string_view what) const {
    if (status_->ok()) *status_ = absl::InvalidArgumentError(StrCat(place_, ": ", what));
  }
  bool ok() const { return status_->ok(); }

 private:
  static inline const JsonValue kNull;
  const JsonValue& object_;
  std::string place_;
  Status* status_;
};

Answer ReadAnswer(const Reader& r) {
  const std::optional<Answer> answer = AnswerOf(r.Text("answer"));
  if (!answer) r.Wrong("answer", r.Find("answer"), "yes, warned, no or unproven");
  return answer.value_or(Answer::kUnproven);
}

NamedDigest ReadDigest(const Reader& r) {
  NamedDigest digest{r.Text("name"), "", ""};
  const Reader values = r.Object("digest");
  if (!r.ok()) return digest;
  digest.sha256 = values.Text("sha256");
  if (values.Find("sm3") != nullptr) digest.sm3 = values.Text("sm3");
  if (!IsHexDigest(digest.sha256) || !(digest.sm3.empty() || IsHexDigest(digest.sm3))) {
    values.Fail("a digest is not 64 hex digits");
  }
  return digest;
}

std::vector<NamedDigest> ReadDigests(const Reader& r, std::string_view key) {
  std::vector<NamedDigest> digests;
  r.EachObject(key, [&](const Reader& item) { digests.push_back(ReadDigest(item)); });
  return digests;
}

void ReadSubjects(const Reader& root, Statement* s) {
  std::set<std::string> names;
  bool model = false;
  root.EachObject("subject", [&](const Reader& r) {
    const std::string name = r.Text("name");
    if (!names.insert(name).second) r.Fail(StrCat("the name ", formats::QuotedShort(name), " appears twice"));
    if (name.starts_with("model:")) {
      model = true;
      if (name.substr(6) != s->unit.model_name ||
          r.Object("digest").Text("dirHash") != *s->unit.identity.Find("model")) {
        r.Fail("names another model than the predicate");
      }
      return;
    }
    CoveredFile file{ReadDigest(r), r.Object("annotations").Int("bytes")};
    if (r.ok() && (!IsGoodFileName(name) || file.digest.sm3.empty())) {
      r.Fail(StrCat("the file ", formats::QuotedShort(name),
                    " has a name that no evidence has, or lacks its sm3"));
    }
    s->files.push_back(std::move(file));
  });
  if (root.ok() && !model) root.Fail("no subject names the model");
}

void ReadIdentity(const Reader& predicate, Statement* s) {
  const Reader model = predicate.Object("model"), identity = predicate.Object("identity");
  if (!predicate.ok()) return;
  s->unit.model_name = model.Text("name");
  s->unit.model_files = ReadDigests(model, "files");
  s->identity = identity.Digest("digest");
  identity.EachObject("parts", [&](const Reader& r) {
    std::string name = r.Text("name"), value = r.Text("value");
    s->unit.identity.parts.emplace_back(std::move(name), std::move(value));
  });
  if (!predicate.ok()) return;
  const auto digest = s->unit.identity.Digest();
  const std::string* part = s->unit.identity.Find("model");
  if (!digest.ok() || *digest != s->identity) identity.Fail("\"digest\" is not the digest of the parts");
  if (part == nullptr || *part != model.Digest("digest")) {
    identity.Fail("part \"model\" is not the model's digest");
  }
  const Reader sizes = predicate.Object("envelope");
  if (predicate.ok()) s->unit.envelope = {sizes.Int("batch"), sizes.Int("context"), sizes.Int("horizon")};
}

// The model's digest is the sha256 of the list that sha256sum prints for its files.
void CheckModelFiles(const Reader& predicate, const Statement& s) {
  if (!predicate.ok() || s.unit.model_files.empty()) return;
  Sha256 sha;
  for (const NamedDigest& file : s.unit.model_files) sha.Update(StrCat(file.sha256, "  ", file.name, "\n"));
  const auto hex = sha.Hex();
  if (!hex.ok() || *hex != *s.unit.identity.Find("model")) {
    predicate.Fail("the model's digest is not that of the files listed");
  }
}

std::vector<AskedItem> ReadAsked(const Reader& from) {
  std::vector<AskedItem> asked;
  std::set<std::string> ids;
  from.EachObject("asked", [&](const Reader& r) {
    AskedItem item;
    item.id = r.Text("id");
    const std::optional<AskedItem::Covers> covers = CoversOf(r.Text("covers"));
    if (!covers) return r.Wrong("covers", r.Find("covers"), "same, at-least or at-most");
    item.covers = *covers;
    if (item.covers == AskedItem::Covers::kSame) {
      item.text = r.Text("value");
    } else {
      item.number = r.Number("value");
    }
    if (!ids.insert(item.id).second)
      r.Fail(StrCat("the id ", formats::QuotedShort(item.id), " appears twice"));
    asked.push_back(std::move(item));
  });
  if (from.ok() && asked.empty()) from.Fail("\"asked\" is empty; what was asked is expected");
  return asked;
}

void ReadAnswers(const Reader& predicate, Statement* s) {
  size_t at = 0;
  predicate.EachObject("checklist", [&](const Reader& r) {
    const std::string id = r.Text("id");
    if (at >= kChecklistIds.size() || id != kChecklistIds[at]) {
      r.Fail(StrCat("\"id\" is ", formats::QuotedShort(id), "; the ids are ", Join(kChecklistIds, ", ")));
      return;
    }
    s->unit.checklist[at++] = {id, r.Text("question"), r.Text("text"), ReadAnswer(r)};
  });
  if (predicate.ok() && at != kChecklistIds.size())
    predicate.Fail("\"checklist\" has less than seven answers");
  predicate.EachObject("layers", [&](const Reader& r) {
    std::string name = r.Text("name"), text = r.Text("text");
    s->unit.layers.push_back({std::move(name), ReadAnswer(r), std::move(text)});
  });
  s->unit.asked = ReadAsked(predicate);
  predicate.EachObject("standing", [&](const Reader& r) {
    StandingFailure failure{r.Text("finished"), {}, r.Text("text"), r.Text("reproduce"), ReadAsked(r)};
    r.Each("questions", kChecklistIds.size(), [&](const JsonValue& item, const std::string& place) {
      if (item.text() == nullptr || s->unit.Item(*item.text()) == nullptr) {
        return r.Fail(StrCat(place, " is none of ", Join(kChecklistIds, ", ")));
      }
      failure.questions.push_back(*item.text());
    });
    if (r.ok() && (failure.questions.empty() || !CompactTime(failure.finished).ok())) {
      r.Fail("a failure that stands needs a time and the questions that failed");
    }
    s->unit.standing.push_back(std::move(failure));
  });
  s->verdict = VerdictOf(s->unit);
  if (predicate.ok() && predicate.Text("verdict") != VerdictName(s->verdict)) {
    predicate.Wrong("verdict", predicate.Find("verdict"),
                    StrCat(VerdictName(s->verdict), ", as the answers give,"));
  }
}

void ReadRecords(const Reader& predicate, Statement* s) {
  const Reader r = predicate.Object("records");
  if (!predicate.ok()) return;
  int64_t sum = 0;
  for (size_t i = 0; i < kRecordStatuses.size(); ++i) {
    s->records.by_status[i] = r.Int(kRecordStatuses[i]);
    if (__builtin_add_overflow(sum, s->records.by_status[i], &sum)) return r.Fail("impossible counts");
  }
  s->records.total = r.Int("total");
  if (sum != s->records.total) r.Fail("\"total\" is not the sum of the counts");
  if (s->records.failures() > 0 && s->verdict == Verdict::kPass) {
    r.Fail(StrCat(s->records.failures(), " records failed, but the verdict is pass"));
  }
}

void ReadConditions(const Reader& predicate, Statement* s) {
  Unit& unit = s->unit;
  unit.inputs = ReadDigests(predicate, "inputs");
  unit.preprocessing = ReadDigests(predicate, "preprocessing");
  unit.reference = ReadDigests(predicate, "reference");
  unit.rules_sha256 = predicate.Object("rules").Digest("digest");
  const Reader tool = predicate.Object("tool");
  unit.tool = {tool.Text("name"), tool.Text("version"), tool.Text("commit"), tool.Text("binary_sha256")};
  s->environment_sha256 = predicate.Object("environment").Digest("digest");
  unit.repeats = predicate.Int("repeats");
  predicate.Each("seeds", kMaxSubjects, [&](const JsonValue& item, const std::string& place) {
    if (item.integer() == nullptr) return predicate.Fail(StrCat(place, " is no integer"));
    unit.seeds.push_back(*item.integer());
  });
  predicate.EachObject("waivers", [&](const Reader& r) {
    unit.waivers.push_back({r.Text("subject"), r.Text("owner"), r.Text("reason"), r.Text("expires")});
  });
  if (const JsonValue* performance = predicate.Find("performance");
      performance != nullptr && !performance->is_null()) {
    unit.performance_json = JsonText(*performance);
  }
  predicate.Each("limits", kMaxSubjects, [&](const JsonValue& item, const std::string& place) {
    if (item.text() == nullptr) return predicate.Fail(StrCat(place, " is no text"));
    unit.limits.push_back(*item.text());
  });
  unit.reproduce = predicate.Text("reproduce");
  unit.run = predicate.Text("run");
  unit.started = predicate.Text("started");
  unit.finished = predicate.Text("finished");
}

void CheckFiles(const Reader& root, const Statement& s) {
  for (const std::string_view name : {kRecordsFile, kTestResultFile, kEnvironmentFile}) {
    const auto at = std::find_if(s.files.begin(), s.files.end(),
                                 [&](const CoveredFile& file) { return file.digest.name == name; });
    if (at == s.files.end()) return root.Fail(StrCat("no subject names ", name));
    if (name == kEnvironmentFile && at->digest.sha256 != s.environment_sha256) {
      return root.Fail("the predicate and the subject give environment.json different digests");
    }
  }
}

}  // namespace

StatusOr<Statement> ParseStatement(std::string_view payload, const std::string& where) {
  PLINTH_ASSIGN_OR_RETURN(const JsonValue json, formats::ParseJson(payload, where));
  Status status;
  const Reader root(json, where, &status);
  if (root.Text("_type") != "https://in-toto.io/Statement/v1") {
    root.Wrong("_type", root.Find("_type"), "https://in-toto.io/Statement/v1");
  }
  if (root.Text("predicateType") != kPredicateType) {
    root.Wrong("predicateType", root.Find("predicateType"), kPredicateType);
  }
  const Reader predicate = root.Object("predicate");
  PLINTH_RETURN_IF_ERROR(status);
  Statement statement;
  ReadIdentity(predicate, &statement);
  PLINTH_RETURN_IF_ERROR(status);
  CheckModelFiles(predicate, statement);
  ReadSubjects(root, &statement);
  ReadAnswers(predicate, &statement);
  ReadRecords(predicate, &statement);
  ReadConditions(predicate, &statement);
  PLINTH_RETURN_IF_ERROR(status);
  CheckFiles(root, statement);
  for (const std::string& time : {statement.unit.started, statement.unit.finished}) {
    if (const auto compact = CompactTime(time); !compact.ok())
      root.Fail(std::string(compact.status().message()));
  }
  PLINTH_RETURN_IF_ERROR(status);
  return statement;
}

}  // namespace plinth::evidence
