#include "plinth/evidence/environment.h"

#include <algorithm>

#include "plinth/base/text.h"

namespace plinth::evidence {

std::string Fact::Path() const { return StrCat(section, ".", item, item.empty() ? "" : ".", name); }

std::string FactText(const FactValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* number = std::get_if<int64_t>(&value)) return StrCat(*number);
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  return Join(std::get<std::vector<std::string>>(value), ", ");
}

std::string_view SeverityName(Severity severity) {
  constexpr std::string_view kNames[] = {"note", "warning", "error"};
  return kNames[static_cast<int>(severity)];
}

const Fact* Environment::Find(std::string_view section, std::string_view item, std::string_view name) const {
  for (const Fact& fact : facts) {
    if (fact.section == section && fact.item == item && fact.name == name) return &fact;
  }
  return nullptr;
}

std::string Environment::Text(std::string_view section, std::string_view item, std::string_view name) const {
  const Fact* fact = Find(section, item, name);
  return fact == nullptr ? "" : FactText(fact->value);
}

std::vector<std::string> Environment::Items(std::string_view section) const {
  std::vector<std::string> items;
  for (const Fact& fact : facts) {
    if (fact.section != section || fact.item.empty()) continue;
    if (items.empty() || items.back() != fact.item) items.push_back(fact.item);
  }
  return items;
}

void Environment::Add(std::string_view section, std::string_view item, std::string_view name, FactValue value,
                      std::string_view source) {
  std::string key(name);
  for (Fact& fact : facts) {
    if (fact.section != section || fact.item != item || fact.name != key) continue;
    if (fact.value == value) {
      if (std::find(fact.sources.begin(), fact.sources.end(), source) == fact.sources.end()) {
        fact.sources.emplace_back(source);
      }
      return;
    }
    StrAppend(&key, " (", source, ")");
    break;
  }
  // After the last fact of the same item, else of the same section, so that what belongs together stays so.
  auto place = facts.end();
  for (auto it = facts.begin(); it != facts.end(); ++it) {
    if (it->section != section) continue;
    if (it->item == item && it->name == key) return;
    if (it->item == item || place == facts.end() || (place - 1)->item != item) place = it + 1;
  }
  facts.insert(
      place,
      Fact{std::string(section), std::string(item), std::move(key), std::move(value), {std::string(source)}});
}

}  // namespace plinth::evidence
