#include "plinth/formats/toml.h"

#include <toml++/toml.h>

#include <algorithm>
#include <cmath>
#include <sstream>
#include <utility>
#include <vector>

#include "plinth/base/files.h"

namespace plinth::formats {
namespace {

class Converter {
 public:
  // `lines` may be null.
  Converter(const std::string& where, Config::Lines* lines) : where_(where), lines_(lines) {}

  StatusOr<JsonValue> Convert(const toml::node& node, const std::string& path, int depth) const {
    if (depth > kMaxJsonDepth) return Refuse(node, StrCat("is nested deeper than ", kMaxJsonDepth));
    if (const toml::table* table = node.as_table()) return ConvertTable(*table, path, depth);
    if (const toml::array* array = node.as_array()) {
      JsonValue::Array list;
      for (const toml::node& element : *array) {
        const std::string at = StrCat(path, "[", list.size(), "]");
        Remember(at, element.source().begin.line);
        PLINTH_ASSIGN_OR_RETURN(JsonValue value, Convert(element, at, depth + 1));
        list.push_back(std::move(value));
      }
      return JsonValue(std::move(list));
    }
    if (const auto* text = node.as_string()) return JsonValue(text->get());
    if (const auto* integer = node.as_integer()) return JsonValue(integer->get());
    if (const auto* flag = node.as_boolean()) return JsonValue(flag->get());
    if (const auto* real = node.as_floating_point()) {
      if (!std::isfinite(real->get())) return Refuse(node, "is not finite; a number is expected");
      return JsonValue(real->get());
    }
    std::ostringstream text;
    if (const auto* date = node.as_date()) text << date->get();
    if (const auto* time = node.as_time()) text << time->get();
    if (const auto* both = node.as_date_time()) text << both->get();
    return JsonValue(text.str());
  }

  StatusOr<JsonValue> ConvertTable(const toml::table& table, const std::string& path, int depth) const {
    // In the order of the file, which the parser does not keep.
    std::vector<std::pair<toml::source_position, std::pair<std::string, const toml::node*>>> entries;
    for (const auto& [key, node] : table) {
      entries.emplace_back(key.source().begin, std::pair(std::string(key.str()), &node));
    }
    std::stable_sort(entries.begin(), entries.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    JsonValue::Object object;
    for (auto& [at, entry] : entries) {
      const std::string inside = path.empty() ? entry.first : StrCat(path, ".", entry.first);
      Remember(inside, at.line);
      PLINTH_ASSIGN_OR_RETURN(JsonValue value, Convert(*entry.second, inside, depth + 1));
      object.emplace_back(std::move(entry.first), std::move(value));
    }
    return JsonValue(std::move(object));
  }

 private:
  void Remember(const std::string& path, int64_t line) const {
    if (lines_ != nullptr) lines_->emplace(path, line);
  }
  Status Refuse(const toml::node& node, std::string_view why) const {
    return absl::InvalidArgumentError(StrCat(where_, ": line ", node.source().begin.line, ": a value ", why));
  }

  const std::string& where_;
  Config::Lines* lines_;
};

StatusOr<Config> Parse(std::string_view text, std::string where, bool with_lines) {
  try {
    Config::Lines lines;
    const toml::table table = toml::parse(text, where);
    PLINTH_ASSIGN_OR_RETURN(JsonValue root,
                            Converter(where, with_lines ? &lines : nullptr).ConvertTable(table, "", 0));
    return Config::Of(std::move(root), std::move(where), std::move(lines));
  } catch (const toml::parse_error& error) {
    return absl::InvalidArgumentError(StrCat(where, ": line ", error.source().begin.line,
                                             ": not TOML: ", std::string_view(error.description())));
  }
}

}  // namespace

StatusOr<Config> ParseToml(std::string_view text, std::string where) {
  return Parse(text, std::move(where), false);
}

StatusOr<Config> ParseTomlWithLines(std::string_view text, std::string where) {
  return Parse(text, std::move(where), true);
}

Config::Lines TomlLines(std::string_view text) {
  Config::Lines lines;
  try {
    static_cast<void>(Converter("", &lines).ConvertTable(toml::parse(text), "", 0));
  } catch (const toml::parse_error&) {
    lines.clear();
  }
  return lines;
}

StatusOr<Config> LoadToml(const std::string& path) {
  PLINTH_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMaxConfigBytes));
  return ParseToml(text, path);
}

}  // namespace plinth::formats
