// The part of JSON Schema by which a format says what an answer holds.
#include <algorithm>
#include <cmath>

#include "plinth/verify/metrics/answer_rules.h"
#include "plinth/verify/metrics/samples.h"

namespace plinth::verify::metrics {
namespace {

using formats::JsonValue;

constexpr std::string_view kTypes[] = {"object", "array", "string", "number", "integer", "boolean", "null"};

bool IsOfType(const JsonValue& value, std::string_view type) {
  if (type == "object") return value.object() != nullptr;
  if (type == "array") return value.array() != nullptr;
  if (type == "string") return value.text() != nullptr;
  if (type == "boolean") return value.flag() != nullptr;
  if (type == "null") return value.is_null();
  double number = 0;
  if (!ToNumber(value, &number)) return false;
  return type == "number" || std::floor(number) == number;
}

bool Equal(const JsonValue& a, const JsonValue& b) {
  double x = 0, y = 0;
  if (ToNumber(a, &x) && ToNumber(b, &y)) return x == y;
  if (a.text() != nullptr && b.text() != nullptr) return *a.text() == *b.text();
  if (a.flag() != nullptr && b.flag() != nullptr) return *a.flag() == *b.flag();
  if (a.array() != nullptr && b.array() != nullptr) {
    return std::equal(a.array()->begin(), a.array()->end(), b.array()->begin(), b.array()->end(), Equal);
  }
  if (a.object() != nullptr && b.object() != nullptr) {
    return a.object()->size() == b.object()->size() &&
           std::all_of(a.object()->begin(), a.object()->end(), [&](const auto& member) {
             const JsonValue* other = b.Find(member.first);
             return other != nullptr && Equal(member.second, *other);
           });
  }
  return a.is_null() && b.is_null();
}

// Whether `number` keeps the bounds under two keys of the schema, where they are given.
bool Within(double number, const JsonValue& schema, const char* least, const char* most) {
  double bound = 0;
  if (const JsonValue* low = schema.Find(least); low != nullptr && ToNumber(*low, &bound) && number < bound)
    return false;
  const JsonValue* high = schema.Find(most);
  return high == nullptr || !ToNumber(*high, &bound) || number <= bound;
}

bool TextFits(const std::string& text, const JsonValue& schema) {
  const auto characters = static_cast<double>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
  if (!Within(characters, schema, "minLength", "maxLength")) return false;
  const JsonValue* pattern = schema.Find("pattern");
  if (pattern == nullptr) return true;
  // In JSON Schema a pattern may match anywhere.
  const auto compiled = Pattern::Compile(StrCat("(?s:.*)(?:", *pattern->text(), ")(?s:.*)"));
  return compiled.ok() && compiled->MatchesAll(text);
}

bool ObjectFits(const JsonValue& value, const JsonValue& schema) {
  const JsonValue* required = schema.Find("required");
  if (required != nullptr) {
    for (const JsonValue& name : *required->array()) {
      if (value.Find(*name.text()) == nullptr) return false;
    }
  }
  const JsonValue* properties = schema.Find("properties");
  const JsonValue* additional = schema.Find("additionalProperties");
  for (const auto& [name, member] : *value.object()) {
    const JsonValue* known = properties == nullptr ? nullptr : properties->Find(name);
    if (known != nullptr ? !FitsSchema(member, *known) : additional != nullptr && !*additional->flag())
      return false;
  }
  return true;
}

bool ArrayFits(const JsonValue& value, const JsonValue& schema) {
  if (!Within(static_cast<double>(value.array()->size()), schema, "minItems", "maxItems")) return false;
  const JsonValue* items = schema.Find("items");
  return items == nullptr || std::all_of(value.array()->begin(), value.array()->end(),
                                         [&](const JsonValue& item) { return FitsSchema(item, *items); });
}

Status Wrong(const std::string& path, const JsonValue& value, std::string_view wanted) {
  return absl::InvalidArgumentError(StrCat(path, " is ", ShortText(value), ", not ", wanted));
}

Status CheckTypes(const JsonValue& value, const std::string& path) {
  const auto known = [](const JsonValue& name) {
    return name.text() != nullptr &&
           std::find(std::begin(kTypes), std::end(kTypes), *name.text()) != std::end(kTypes);
  };
  const bool good = value.array() != nullptr
                        ? std::all_of(value.array()->begin(), value.array()->end(), known)
                        : known(value);
  if (good) return absl::OkStatus();
  return Wrong(path, value, StrCat("one or a list of ", Join(kTypes, ", ")));
}

// The value of one word of a schema.
Status CheckWord(const std::string& word, const JsonValue& value, const std::string& path) {
  double number = 0;
  if (word == "type") return CheckTypes(value, path);
  if (word == "enum") return value.array() != nullptr ? absl::OkStatus() : Wrong(path, value, "a list");
  if (word == "const" || word == "title" || word == "description" || word == "$schema")
    return absl::OkStatus();
  if (word == "items") return CheckSchema(value, path);
  if (word == "additionalProperties")
    return value.flag() != nullptr ? absl::OkStatus() : Wrong(path, value, "true or false");
  if (word == "pattern") {
    if (value.text() == nullptr) return Wrong(path, value, "text");
    return Pattern::Compile(*value.text()).status();
  }
  if (word == "required") {
    const bool names =
        value.array() != nullptr && std::all_of(value.array()->begin(), value.array()->end(),
                                                [](const JsonValue& v) { return v.text() != nullptr; });
    return names ? absl::OkStatus() : Wrong(path, value, "a list of names");
  }
  if (word == "properties") {
    if (value.object() == nullptr) return Wrong(path, value, "an object");
    for (const auto& [name, inner] : *value.object())
      PLINTH_RETURN_IF_ERROR(CheckSchema(inner, StrCat(path, ".", name)));
    return absl::OkStatus();
  }
  for (const char* bound : {"minItems", "maxItems", "minLength", "maxLength", "minimum", "maximum"}) {
    if (word == bound) return ToNumber(value, &number) ? absl::OkStatus() : Wrong(path, value, "a number");
  }
  return absl::InvalidArgumentError(StrCat(path,
                                           " is not known; there are type, enum, const, properties, "
                                           "required, additionalProperties, items, minItems, "
                                           "maxItems, minLength, maxLength, minimum, maximum, pattern"));
}

}  // namespace

Status CheckSchema(const JsonValue& schema, const std::string& path) {
  if (schema.object() == nullptr) return Wrong(path, schema, "an object");
  for (const auto& [word, value] : *schema.object()) {
    PLINTH_RETURN_IF_ERROR(CheckWord(word, value, StrCat(path, ".", word)));
  }
  return absl::OkStatus();
}

bool FitsSchema(const JsonValue& value, const JsonValue& schema) {
  if (const JsonValue* type = schema.Find("type")) {
    const bool fits = type->array() == nullptr
                          ? IsOfType(value, *type->text())
                          : std::any_of(type->array()->begin(), type->array()->end(),
                                        [&](const JsonValue& one) { return IsOfType(value, *one.text()); });
    if (!fits) return false;
  }
  if (const JsonValue* allowed = schema.Find("enum")) {
    const auto& list = *allowed->array();
    if (std::none_of(list.begin(), list.end(), [&](const JsonValue& one) { return Equal(one, value); }))
      return false;
  }
  if (const JsonValue* only = schema.Find("const"); only != nullptr && !Equal(*only, value)) return false;
  double number = 0;
  if (ToNumber(value, &number)) return Within(number, schema, "minimum", "maximum");
  if (value.text() != nullptr) return TextFits(*value.text(), schema);
  if (value.object() != nullptr) return ObjectFits(value, schema);
  return value.array() == nullptr || ArrayFits(value, schema);
}

}  // namespace plinth::verify::metrics
