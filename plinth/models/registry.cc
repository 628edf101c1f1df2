#include "plinth/models/chronos2.h"
#include "plinth/models/chronos_bolt.h"
#include "plinth/models/model.h"
#include "plinth/models/plinth_ts.h"

namespace plinth::models {
namespace {

struct Family {
  const char* name;          // model_type of config.json, where the family has one of its own
  const char* architecture;  // else the first of its "architectures"; nullptr: none
  StatusOr<std::unique_ptr<Model>> (*make)(const formats::Config& config);
};

// One line per family.
constexpr Family kFamilies[] = {
    {"chronos2", "Chronos2Model", MakeChronos2},
    {"chronos_bolt", "ChronosBoltModelForForecasting", MakeChronosBolt},
    {"plinth_ts", nullptr, MakePlinthTs},
};

// The first of "architectures", or "".
std::string Architecture(const formats::Config& config) {
  const formats::JsonValue* list = config.json().Find("architectures");
  if (list == nullptr || list->array() == nullptr || list->array()->empty()) return "";
  const std::string* first = list->array()->front().text();
  return first == nullptr ? "" : *first;
}

}  // namespace

StatusOr<std::unique_ptr<Model>> MakeModel(const formats::Config& config) {
  const std::string architecture = Architecture(config);
  for (const Family& family : kFamilies) {
    if (family.architecture != nullptr && architecture == family.architecture) return family.make(config);
  }
  PLINTH_ASSIGN_OR_RETURN(const std::string type, config.Text("model_type"));
  for (const Family& family : kFamilies) {
    if (type == family.name) return family.make(config);
  }
  const std::string also =
      architecture.empty() ? "" : StrCat(" and the architecture ", formats::QuotedShort(architecture));
  return absl::InvalidArgumentError(StrCat(config.where(), ": \"model_type\" is \"", type, "\"", also,
                                           "; known families are ", Join(Families(), ", ")));
}

std::vector<std::string> Families() {
  std::vector<std::string> names;
  for (const Family& family : kFamilies) names.emplace_back(family.name);
  return names;
}

}  // namespace plinth::models
