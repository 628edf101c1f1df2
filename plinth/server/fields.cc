#include "plinth/server/fields.h"

#include <simdjson.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/cord.h"
#include "plinth/base/text.h"
#include "plinth/formats/json_writer.h"

namespace plinth::server {
namespace {

namespace dom = simdjson::dom;

constexpr char kFieldPayload[] = "plinth/field";
constexpr size_t kShown = 60;

std::string NumberText(double value) {
  std::string out;
  formats::JsonWriter(&out).Number(value);
  return out;
}

}  // namespace

Status FieldError(std::string_view field, std::string_view message) {
  Status status =
      absl::InvalidArgumentError(field.empty() ? std::string(message) : StrCat(field, ": ", message));
  if (!field.empty()) status.SetPayload(kFieldPayload, absl::Cord(std::string(field)));
  return status;
}

std::string FieldOf(const Status& status) {
  const auto payload = status.GetPayload(kFieldPayload);
  return payload ? std::string(*payload) : std::string();
}

struct JsonField::Element {
  dom::element value;
};

struct JsonBody::Document {
  dom::parser parser;
  dom::element root;
};

StatusOr<JsonBody> JsonBody::Parse(std::string_view body) {
  JsonBody parsed;
  parsed.document_ = std::make_shared<Document>();
  const auto error = parsed.document_->parser.parse(body.data(), body.size(), /*realloc_if_needed=*/true)
                         .get(parsed.document_->root);
  if (error == simdjson::MEMALLOC || error == simdjson::CAPACITY) {
    return absl::ResourceExhaustedError("memory ran out while the body was read");
  }
  if (error != simdjson::SUCCESS) {
    return absl::InvalidArgumentError(body.empty()
                                          ? std::string("the body is empty; a JSON object is expected")
                                          : StrCat("the body is not JSON: ", simdjson::error_message(error)));
  }
  parsed.root_.element_ = std::make_shared<JsonField::Element>(JsonField::Element{parsed.document_->root});
  return parsed;
}

std::string JsonField::PathOf(std::string_view key) const {
  return path_.empty() ? std::string(key) : StrCat(path_, ".", key);
}

bool JsonField::is_null() const { return element_->value.is_null(); }
bool JsonField::is_object() const { return element_->value.is_object(); }
bool JsonField::is_array() const { return element_->value.is_array(); }
bool JsonField::is_string() const { return element_->value.is_string(); }
bool JsonField::is_number() const { return element_->value.is_number(); }

std::string JsonField::Json(size_t most) const {
  std::string text = simdjson::minify(element_->value);
  if (text.size() > most) {
    text.resize(most);
    text += "...";
  }
  return text;
}

Status JsonField::Refuse(std::string_view wanted) const {
  // Large values are told by their kind.
  const bool large = is_object() || is_array();
  return FieldError(path_.empty() ? "" : path_,
                    StrCat("is ", large ? (is_object() ? "an object" : "a list") : Json(kShown), "; ", wanted,
                           " is expected"));
}

std::optional<JsonField> JsonField::Find(std::string_view key) const {
  dom::element found;
  dom::object object;
  if (element_->value.get(object) != simdjson::SUCCESS ||
      object.at_key(key).get(found) != simdjson::SUCCESS || found.is_null()) {
    return std::nullopt;
  }
  JsonField field;
  field.element_ = std::make_shared<Element>(Element{found});
  field.path_ = PathOf(key);
  return field;
}

StatusOr<JsonField> JsonField::Get(std::string_view key) const {
  if (auto field = Find(key)) return *std::move(field);
  return FieldError(PathOf(key), "is missing");
}

std::vector<std::string> JsonField::Keys() const {
  std::vector<std::string> keys;
  dom::object object;
  if (element_->value.get(object) != simdjson::SUCCESS) return keys;
  for (const auto pair : object) keys.emplace_back(pair.key);
  return keys;
}

Status JsonField::ExpectObject() const {
  if (!is_object()) return Refuse("an object");
  std::vector<std::string> keys = Keys();
  std::sort(keys.begin(), keys.end());
  const auto twice = std::adjacent_find(keys.begin(), keys.end());
  if (twice == keys.end()) return absl::OkStatus();
  return FieldError(PathOf(twice->substr(0, kShown)), "is given twice");
}

Status JsonField::CheckKeys(const std::vector<std::string_view>& known) const {
  PLINTH_RETURN_IF_ERROR(ExpectObject());
  for (const std::string& key : Keys()) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    const std::string shown = key.size() > kShown ? StrCat(key.substr(0, kShown), "...") : key;
    return FieldError(PathOf(shown), StrCat("is not known; known are ", Join(known, ", ")));
  }
  return absl::OkStatus();
}

StatusOr<std::vector<JsonField>> JsonField::Elements(size_t most) const {
  dom::array array;
  if (element_->value.get(array) != simdjson::SUCCESS) return Refuse("a list");
  std::vector<JsonField> elements;
  if (array.size() > most)
    return FieldError(path_, StrCat("has ", array.size(), " elements; at most ", most, " are taken"));
  for (const dom::element value : array) {
    if (elements.size() == most) return FieldError(path_, StrCat("has more than ", most, " elements"));
    JsonField field;
    field.path_ = StrCat(path_, "[", elements.size(), "]");
    field.element_ = std::make_shared<Element>(Element{value});
    elements.push_back(std::move(field));
  }
  return elements;
}

StatusOr<std::string_view> JsonField::Text() const {
  std::string_view text;
  if (element_->value.get(text) != simdjson::SUCCESS) return Refuse("text");
  return text;
}

StatusOr<int64_t> JsonField::Int(int64_t least, int64_t most) const {
  int64_t value = 0;
  double real = 0;
  bool good = element_->value.get(value) == simdjson::SUCCESS;
  // 24.0 is 24, as clients in languages without integers write it.
  if (!good && element_->value.get(real) == simdjson::SUCCESS && std::floor(real) == real &&
      std::fabs(real) < 1e15) {
    value = static_cast<int64_t>(real);
    good = true;
  }
  if (good && value >= least && value <= most) return value;
  return Refuse(StrCat("an integer in [", least, ", ", most, "]"));
}

StatusOr<double> JsonField::Number(double least, double most) const {
  double value = 0;
  if (element_->value.get(value) == simdjson::SUCCESS && value >= least && value <= most) return value;
  return Refuse(StrCat("a number in [", NumberText(least), ", ", NumberText(most), "]"));
}

StatusOr<bool> JsonField::Flag() const {
  bool value = false;
  if (element_->value.get(value) != simdjson::SUCCESS) return Refuse("true or false");
  return value;
}

namespace {

Status AppendNumbers(const dom::array& array, const std::string& path, size_t most, int depth,
                     std::vector<double>* to) {
  size_t index = 0;
  for (const dom::element value : array) {
    double number = 0;
    dom::array inner;
    if (value.get(number) == simdjson::SUCCESS) {
      to->push_back(number);
    } else if (value.is_null()) {
      to->push_back(std::numeric_limits<double>::quiet_NaN());
    } else if (depth > 0 && value.get(inner) == simdjson::SUCCESS) {
      PLINTH_RETURN_IF_ERROR(AppendNumbers(inner, StrCat(path, "[", index, "]"), most, depth - 1, to));
    } else {
      std::string text = simdjson::minify(value);
      if (text.size() > kShown) text = StrCat(text.substr(0, kShown), "...");
      return FieldError(StrCat(path, "[", index, "]"), StrCat("is ", text, "; a number or null is expected"));
    }
    if (to->size() > most) return FieldError(path, StrCat("has more than ", most, " values"));
    ++index;
  }
  return absl::OkStatus();
}

}  // namespace

Status JsonField::Numbers(size_t most, bool nested, std::vector<double>* to) const {
  dom::array array;
  if (element_->value.get(array) != simdjson::SUCCESS) return Refuse("a list of numbers");
  to->clear();
  to->reserve(std::min(array.size(), most));
  return AppendNumbers(array, path_, most, nested ? 16 : 0, to);
}

Status JsonField::Flags(size_t most, std::vector<uint8_t>* to) const {
  dom::array array;
  if (element_->value.get(array) != simdjson::SUCCESS) return Refuse("a list of true and false");
  to->clear();
  to->reserve(std::min(array.size(), most));
  for (const dom::element value : array) {
    bool flag = false;
    int64_t number = -1;
    if (value.get(flag) != simdjson::SUCCESS) {
      if (value.get(number) != simdjson::SUCCESS || number < 0 || number > 1) {
        return FieldError(StrCat(path_, "[", to->size(), "]"), "is neither true nor false");
      }
      flag = number == 1;
    }
    to->push_back(flag ? 1 : 0);
    if (to->size() > most) return FieldError(path_, StrCat("has more than ", most, " values"));
  }
  return absl::OkStatus();
}

bool JsonField::is_nested() const {
  dom::array array;
  if (element_->value.get(array) != simdjson::SUCCESS) return false;
  const auto first = array.begin();
  return first != array.end() && (*first).is_array();
}

}  // namespace plinth::server
