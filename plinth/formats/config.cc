#include "plinth/formats/config.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "plinth/base/files.h"
#include "plinth/formats/sealed_file.h"

namespace plinth::formats {

StatusOr<Config> Config::Load(const std::string& folder) {
  PLINTH_ASSIGN_OR_RETURN(const std::string path, FindModelFile(folder, "config.json"));
  if (path.empty()) {
    return absl::NotFoundError(StrCat(folder, IsFolder(folder)
                                                  ? ": holds no config.json; a model folder is expected"
                                                  : ": no such folder; a model folder is expected"));
  }
  PLINTH_ASSIGN_OR_RETURN(const std::string text, ReadModelFile(path, kMaxConfigBytes));
  return Parse(text, path);
}

StatusOr<Config> Config::Parse(std::string_view text, std::string where) {
  PLINTH_ASSIGN_OR_RETURN(JsonValue root, ParseJson(text, where));
  return Of(std::move(root), std::move(where));
}

StatusOr<Config> Config::Of(JsonValue root, std::string where, Lines lines) {
  auto file = std::make_shared<File>();
  file->where = std::move(where);
  file->lines = std::move(lines);
  file->root = std::move(root);
  if (file->root.object() == nullptr) {
    return absl::InvalidArgumentError(
        StrCat(file->where, ": is ", ShortText(file->root), "; an object is expected"));
  }
  const JsonValue* node = &file->root;
  return Config(std::move(file), node, "");
}

std::string Config::At(std::string path) const {
  while (!file_->lines.empty() && !path.empty()) {
    if (const auto found = file_->lines.find(path); found != file_->lines.end()) {
      return StrCat(where(), ": line ", found->second);
    }
    // One level up: "a.b[2]" lies in "a.b".
    const size_t cut = path.find_last_of(".[");
    path.resize(cut == std::string::npos ? 0 : cut);
  }
  return where();
}

const JsonValue* Config::Present(std::string_view key) const {
  const JsonValue* value = node_->Find(key);
  return value == nullptr || value->is_null() ? nullptr : value;
}

Status Config::RefuseValue(std::string_view path, const JsonValue* value, std::string_view wanted) const {
  const std::string found = value == nullptr ? "missing" : ShortText(*value);
  return absl::InvalidArgumentError(StrCat(At(StrCat(prefix_, path)), ": \"", prefix_, path, "\" is ", found,
                                           "; ", wanted, " is expected"));
}

Status Config::Refuse(std::string_view key, std::string_view wanted) const {
  return RefuseValue(key, node_->Find(key), wanted);
}

StatusOr<int64_t> Config::ToInt(std::string_view path, const JsonValue* value, int64_t lo, int64_t hi) const {
  const int64_t* number = value == nullptr ? nullptr : value->integer();
  if (number != nullptr && *number >= lo && *number <= hi) return *number;
  return RefuseValue(path, value, StrCat("an integer in [", lo, ", ", hi, "]"));
}

StatusOr<double> Config::ToReal(std::string_view path, const JsonValue* value, double lo, double hi) const {
  if (value != nullptr && (value->real() != nullptr || value->integer() != nullptr)) {
    const double number = value->real() != nullptr ? *value->real() : static_cast<double>(*value->integer());
    if (number >= lo && number <= hi) return number;
  }
  return RefuseValue(path, value, StrCat("a number in [", lo, ", ", hi, "]"));
}

StatusOr<int64_t> Config::Int(std::string_view key, int64_t lo, int64_t hi) const {
  return ToInt(key, node_->Find(key), lo, hi);
}

StatusOr<int64_t> Config::IntOr(std::string_view key, int64_t lo, int64_t hi, int64_t fallback) const {
  if (Present(key) == nullptr) return fallback;
  return Int(key, lo, hi);
}

StatusOr<double> Config::Real(std::string_view key, double lo, double hi) const {
  return ToReal(key, node_->Find(key), lo, hi);
}

StatusOr<double> Config::RealOr(std::string_view key, double lo, double hi, double fallback) const {
  if (Present(key) == nullptr) return fallback;
  return Real(key, lo, hi);
}

StatusOr<bool> Config::Flag(std::string_view key) const {
  const JsonValue* value = node_->Find(key);
  if (value != nullptr && value->flag() != nullptr) return *value->flag();
  return RefuseValue(key, value, "true or false");
}

StatusOr<bool> Config::FlagOr(std::string_view key, bool fallback) const {
  if (Present(key) == nullptr) return fallback;
  return Flag(key);
}

StatusOr<std::string> Config::Text(std::string_view key) const {
  const JsonValue* value = node_->Find(key);
  if (value != nullptr && value->text() != nullptr) return *value->text();
  return RefuseValue(key, value, "text");
}

StatusOr<std::string> Config::TextOr(std::string_view key, std::string_view fallback) const {
  if (Present(key) == nullptr) return std::string(fallback);
  return Text(key);
}

StatusOr<std::string> Config::Choice(std::string_view key, const std::vector<std::string>& allowed) const {
  const JsonValue* value = node_->Find(key);
  const std::string* text = value == nullptr ? nullptr : value->text();
  if (text != nullptr && std::find(allowed.begin(), allowed.end(), *text) != allowed.end()) return *text;
  return RefuseValue(
      key, value,
      StrCat("one of ", Join(allowed, ", ", [](const std::string& a) { return StrCat("\"", a, "\""); })));
}

template <typename T, typename Convert>
StatusOr<std::vector<T>> Config::ToList(std::string_view key, std::string_view kind, int64_t most,
                                        Convert convert) const {
  const JsonValue* value = node_->Find(key);
  const JsonValue::Array* array = value == nullptr ? nullptr : value->array();
  if (array == nullptr || array->empty() || static_cast<int64_t>(array->size()) > most) {
    return RefuseValue(key, value, StrCat("a list of 1 to ", most, " ", kind));
  }
  std::vector<T> result;
  result.reserve(array->size());
  for (const JsonValue& element : *array) {
    PLINTH_ASSIGN_OR_RETURN(const T item, convert(StrCat(key, "[", result.size(), "]"), &element));
    result.push_back(item);
  }
  return result;
}

StatusOr<std::vector<double>> Config::Reals(std::string_view key, double lo, double hi, int64_t most) const {
  return ToList<double>(key, "numbers", most, [&](const std::string& path, const JsonValue* value) {
    return ToReal(path, value, lo, hi);
  });
}

StatusOr<std::vector<int64_t>> Config::Ints(std::string_view key, int64_t lo, int64_t hi,
                                            int64_t most) const {
  return ToList<int64_t>(key, "integers", most, [&](const std::string& path, const JsonValue* value) {
    return ToInt(path, value, lo, hi);
  });
}

StatusOr<Config> Config::Section(std::string_view key) const {
  const JsonValue* value = node_->Find(key);
  if (value == nullptr || value->object() == nullptr) return RefuseValue(key, value, "an object");
  return Config(file_, value, StrCat(prefix_, key, "."));
}

StatusOr<std::vector<std::string>> Config::Texts(std::string_view key) const {
  std::vector<std::string> texts;
  const JsonValue* value = Present(key);
  if (value == nullptr) return texts;
  if (value->array() == nullptr) return RefuseValue(key, value, "a list of texts");
  for (const JsonValue& element : *value->array()) {
    if (element.text() == nullptr) {
      return RefuseValue(StrCat(key, "[", texts.size(), "]"), &element, "text");
    }
    texts.push_back(*element.text());
  }
  return texts;
}

StatusOr<std::vector<Config>> Config::Sections(std::string_view key) const {
  std::vector<Config> sections;
  const JsonValue* value = Present(key);
  if (value == nullptr) return sections;
  if (value->array() == nullptr) return RefuseValue(key, value, "a list of objects");
  for (const JsonValue& element : *value->array()) {
    const std::string path = StrCat(key, "[", sections.size(), "]");
    if (element.object() == nullptr) return RefuseValue(path, &element, "an object");
    sections.push_back(Config(file_, &element, StrCat(prefix_, path, ".")));
  }
  return sections;
}

Status Config::CheckKeys(const std::vector<std::string>& known) const {
  const std::vector<std::string> unknown = UnknownKeys(known);
  if (unknown.empty()) return absl::OkStatus();
  const std::string path = StrCat(prefix_, unknown[0]);
  return absl::InvalidArgumentError(StrCat(At(path), ": unknown key ", QuotedShort(path), "; ",
                                           Join(known, ", "), known.size() == 1 ? " is" : " are",
                                           " expected"));
}

std::vector<std::string> Config::UnknownKeys(const std::vector<std::string>& known) const {
  std::vector<std::string> unknown;
  for (const auto& [key, value] : *node_->object()) {
    if (std::find(known.begin(), known.end(), key) == known.end()) unknown.push_back(key);
  }
  return unknown;
}

}  // namespace plinth::formats
