#include "plinth/server/series_units.h"

#include <map>
#include <string>

#include "plinth/base/text.h"

namespace plinth::server {

StatusOr<engine::Together> ReadTogether(const JsonField& root, const SeriesBody& body,
                                        const models::ModelInfo& info) {
  bool joint = false, cross = false;
  if (const auto field = root.Find("joint")) {
    PLINTH_ASSIGN_OR_RETURN(joint, field->Flag());
  }
  if (const auto field = root.Find("cross_learning")) {
    PLINTH_ASSIGN_OR_RETURN(cross, field->Flag());
  }
  const bool groups = !body.covariates.empty() || joint || cross || body.named_groups;
  if (groups && !info.groups) {
    const char* field = !body.covariates.empty() ? body.covariates[0].ahead ? "series.future" : "series.past"
                        : joint                  ? "joint"
                        : cross                  ? "cross_learning"
                                                 : "series.groups";
    return FieldError(
        field, StrCat("models of the family ", info.family,
                      " forecast each series by itself; name a model that sees several, such as chronos2"));
  }
  using Items = engine::Together::Items;
  engine::Together together;
  together.targets = joint;
  together.items = cross ? Items::kAll : body.named_groups ? Items::kGroup : Items::kAlone;
  return together;
}

std::vector<std::vector<size_t>> UnitsOf(const SeriesBody& body, const engine::Together& together) {
  using Items = engine::Together::Items;
  std::vector<std::vector<size_t>> units;
  std::map<std::string, size_t, std::less<>> of_group;
  for (size_t i = 0; i < body.items.size(); ++i) {
    size_t unit = units.size();
    if (together.items == Items::kAll) unit = 0;
    if (together.items == Items::kGroup) unit = of_group.try_emplace(body.items[i].group, unit).first->second;
    if (unit == units.size()) units.emplace_back();
    units[unit].push_back(i);
  }
  return units;
}

}  // namespace plinth::server
