#include "plinth/models/model.h"
#include "plinth/models/plinth_ts.h"

namespace plinth::models {
namespace {

struct Family {
  const char* model_type;
  StatusOr<std::unique_ptr<Model>> (*make)(const formats::Config& config);
};

// One line per family.
constexpr Family kFamilies[] = {
    {"plinth_ts", MakePlinthTs},
};

}  // namespace

StatusOr<std::unique_ptr<Model>> MakeModel(const formats::Config& config) {
  PLINTH_ASSIGN_OR_RETURN(const std::string type, config.Text("model_type"));
  for (const Family& family : kFamilies) {
    if (type == family.model_type) return family.make(config);
  }
  return absl::InvalidArgumentError(StrCat(config.where(), ": \"model_type\" is \"", type,
                                           "\"; known families are ", Join(Families(), ", ")));
}

std::vector<std::string> Families() {
  std::vector<std::string> names;
  for (const Family& family : kFamilies) names.emplace_back(family.model_type);
  return names;
}

}  // namespace plinth::models
