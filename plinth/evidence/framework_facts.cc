// Packages of a Python interpreter.
#include "plinth/base/text.h"
#include "plinth/evidence/environment_subjects.h"
#include "plinth/evidence/python_packages.h"
#include "plinth/evidence/text_fields.h"
#include "plinth/formats/json.h"

namespace plinth::evidence {

void AddFrameworkFacts(const ToolOutput& output, Environment* e) {
  // The interpreter may print warnings before the line.
  std::string_view last;
  for (const std::string_view line : Lines(output.text)) {
    if (line.starts_with('{')) last = line;
  }
  const auto json = formats::ParseJson(last, output.source);
  const formats::JsonValue* packages = json.ok() ? json->Find("packages") : nullptr;
  if (output.exit_code != 0 || packages == nullptr || packages->object() == nullptr) return;
  const auto add = [&](std::string_view name, const formats::JsonValue* value) {
    if (value == nullptr || value->text() == nullptr || value->text()->empty()) return;
    e->Add("frameworks", "", name, FirstLine(*value->text()), output.source);
  };
  add("python", json->Find("python"));
  for (const auto& [name, version] : *packages->object()) {
    add(name, &version);
    const WheelVersion wheel = ParseWheelVersion(version.text() == nullptr ? "" : *version.text());
    if (!wheel.das.empty()) e->Add("frameworks", "", name + "_das", wheel.das, output.source);
    if (!wheel.dtk.empty()) e->Add("frameworks", "", name + "_dtk", wheel.dtk, output.source);
  }
  if (const formats::JsonValue* torch = json->Find("torch"); torch != nullptr) {
    for (const char* key : {"cuda", "hip"}) {
      const formats::JsonValue* value = torch->Find(key);
      if (value != nullptr && value->text() != nullptr && *value->text() != "None") {
        add(StrCat("torch_", key), value);
      }
    }
    add("torch_folder", torch->Find("folder"));
  }
}

}  // namespace plinth::evidence
