// Environment to JSON and back: facts/SECTION[/ITEM]/NAME = {"value","sources"}.
#include "plinth/base/text.h"
#include "plinth/base/version.h"
#include "plinth/evidence/environment.h"
#include "plinth/formats/json.h"
#include "plinth/formats/json_writer.h"

namespace plinth::evidence {
namespace {

using formats::JsonValue;
using formats::JsonWriter;

void WriteTexts(JsonWriter& w, const std::vector<std::string>& texts) {
  w.BeginArray();
  for (const std::string& text : texts) w.String(text);
  w.EndArray();
}

void WriteFact(JsonWriter& w, const Fact& fact) {
  w.Key(fact.name);
  w.BeginObject();
  w.Key("value");
  if (const auto* text = std::get_if<std::string>(&fact.value)) w.String(*text);
  if (const auto* number = std::get_if<int64_t>(&fact.value)) w.Int(*number);
  if (const auto* flag = std::get_if<bool>(&fact.value)) w.Bool(*flag);
  if (const auto* texts = std::get_if<std::vector<std::string>>(&fact.value)) WriteTexts(w, *texts);
  w.Key("sources"), WriteTexts(w, fact.sources);
  w.EndObject();
}

void WriteFacts(JsonWriter& w, const std::vector<Fact>& facts) {
  w.BeginObject();
  for (size_t i = 0; i < facts.size();) {
    const std::string& section = facts[i].section;
    w.Key(section), w.BeginObject();
    while (i < facts.size() && facts[i].section == section) {
      const std::string& item = facts[i].item;
      if (item.empty()) {
        WriteFact(w, facts[i++]);
        continue;
      }
      w.Key(item), w.BeginObject();
      for (; i < facts.size() && facts[i].section == section && facts[i].item == item; ++i) {
        WriteFact(w, facts[i]);
      }
      w.EndObject();
    }
    w.EndObject();
  }
  w.EndObject();
}

// Reads the tree of facts; keeps where it is for the message.
class Reader {
 public:
  Reader(std::string_view where, Environment* environment) : where_(where), environment_(*environment) {}

  Status Read(const JsonValue& root) {
    const JsonValue* schema = root.Find("schema");
    if (schema == nullptr || schema->text() == nullptr || *schema->text() != kEnvironmentSchema) {
      return Wrong("schema", schema, StrCat("\"", kEnvironmentSchema, "\""));
    }
    PLINTH_RETURN_IF_ERROR(Text(root, "time", &environment_.time));
    PLINTH_RETURN_IF_ERROR(Text(root, "root", &environment_.root));
    const JsonValue* facts = root.Find("facts");
    if (facts == nullptr || facts->object() == nullptr) return Wrong("facts", facts, "an object");
    for (const auto& [section, members] : *facts->object()) PLINTH_RETURN_IF_ERROR(Section(section, members));
    return Findings(root.Find("findings"));
  }

 private:
  Status Wrong(std::string_view key, const JsonValue* found, std::string_view right) const {
    return absl::InvalidArgumentError(
        StrCat(where_, ": ", formats::QuotedShort(key),
               found == nullptr ? std::string(" is missing") : StrCat(" is ", formats::ShortText(*found)),
               "; it must be ", right));
  }

  Status Text(const JsonValue& object, std::string_view key, std::string* out) const {
    const JsonValue* value = object.Find(key);
    if (value == nullptr || value->text() == nullptr) return Wrong(key, value, "text");
    *out = *value->text();
    return absl::OkStatus();
  }

  static bool IsFact(const JsonValue& value) {
    const JsonValue* sources = value.Find("sources");
    return value.Find("value") != nullptr && sources != nullptr && sources->array() != nullptr;
  }

  Status Section(const std::string& section, const JsonValue& members) {
    if (members.object() == nullptr) return Wrong(section, &members, "an object of facts");
    for (const auto& [name, value] : *members.object()) {
      if (IsFact(value)) {
        PLINTH_RETURN_IF_ERROR(OneFact(section, "", name, value));
        continue;
      }
      // An item without a name would be taken for the section itself.
      if (value.object() == nullptr || name.empty()) {
        return Wrong(name, &value, "a fact with \"value\" and \"sources\"");
      }
      for (const auto& [inner, fact] : *value.object()) {
        if (!IsFact(fact)) return Wrong(inner, &fact, "a fact with \"value\" and \"sources\"");
        PLINTH_RETURN_IF_ERROR(OneFact(section, name, inner, fact));
      }
    }
    return absl::OkStatus();
  }

  Status Texts(std::string_view key, const JsonValue& list, std::vector<std::string>* out) const {
    for (const JsonValue& value : *list.array()) {
      if (value.text() == nullptr) return Wrong(key, &value, "text");
      out->push_back(*value.text());
    }
    return absl::OkStatus();
  }

  Status OneFact(const std::string& section, const std::string& item, const std::string& name,
                 const JsonValue& found) {
    Fact fact{section, item, name, {}, {}};
    const JsonValue& value = *found.Find("value");
    if (value.text() != nullptr) {
      fact.value = *value.text();
    } else if (value.integer() != nullptr) {
      fact.value = *value.integer();
    } else if (value.flag() != nullptr) {
      fact.value = *value.flag();
    } else if (value.array() != nullptr) {
      PLINTH_RETURN_IF_ERROR(Texts(fact.Path(), value, &fact.value.emplace<std::vector<std::string>>()));
    } else {
      return Wrong(fact.Path(), &value, "text, a whole number, true, false or a list of text");
    }
    PLINTH_RETURN_IF_ERROR(Texts(fact.Path(), *found.Find("sources"), &fact.sources));
    environment_.facts.push_back(std::move(fact));
    return absl::OkStatus();
  }

  Status Findings(const JsonValue* findings) {
    if (findings == nullptr || findings->array() == nullptr) return Wrong("findings", findings, "a list");
    for (const JsonValue& value : *findings->array()) {
      Finding finding;
      std::string severity;
      PLINTH_RETURN_IF_ERROR(Text(value, "id", &finding.id));
      PLINTH_RETURN_IF_ERROR(Text(value, "severity", &severity));
      PLINTH_RETURN_IF_ERROR(Text(value, "sentence", &finding.sentence));
      PLINTH_RETURN_IF_ERROR(Text(value, "resolve", &finding.resolve));
      if (severity == "error") {
        finding.severity = Severity::kError;
      } else if (severity == "warning") {
        finding.severity = Severity::kWarning;
      } else if (severity != "note") {
        return Wrong("severity", value.Find("severity"), "\"note\", \"warning\" or \"error\"");
      }
      environment_.findings.push_back(std::move(finding));
    }
    return absl::OkStatus();
  }

  std::string_view where_;
  Environment& environment_;
};

}  // namespace

std::string ToJson(const Environment& environment) {
  std::string out;
  JsonWriter w(&out);
  w.BeginObject();
  w.Key("schema"), w.String(kEnvironmentSchema);
  w.Key("producer"), w.BeginObject();
  w.Key("name"), w.String("plinth");
  w.Key("version"), w.String(kVersion);
  w.EndObject();
  w.Key("time"), w.String(environment.time);
  w.Key("root"), w.String(environment.root);
  w.Key("facts"), WriteFacts(w, environment.facts);
  w.Key("findings"), w.BeginArray();
  for (const Finding& finding : environment.findings) {
    w.BeginObject();
    w.Key("id"), w.String(finding.id);
    w.Key("severity"), w.String(SeverityName(finding.severity));
    w.Key("sentence"), w.String(finding.sentence);
    w.Key("resolve"), w.String(finding.resolve);
    w.EndObject();
  }
  w.EndArray();
  w.EndObject();
  w.EndLine();
  return out;
}

StatusOr<Environment> ParseEnvironment(std::string_view text, std::string_view where) {
  PLINTH_ASSIGN_OR_RETURN(const JsonValue root, formats::ParseJson(text, where));
  Environment environment;
  PLINTH_RETURN_IF_ERROR(Reader(where, &environment).Read(root));
  return environment;
}

}  // namespace plinth::evidence
