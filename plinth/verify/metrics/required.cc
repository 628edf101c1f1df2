#include "plinth/verify/metrics/required.h"

#include <algorithm>
#include <set>

#include "plinth/base/digest.h"
#include "plinth/base/files.h"
#include "plinth/formats/toml.h"

namespace plinth::verify::metrics {
namespace {

constexpr size_t kShownIds = 10;

}  // namespace

StatusOr<RequiredList> RequiredList::Load(const std::string& path) {
  PLINTH_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, formats::kMaxConfigBytes));
  PLINTH_ASSIGN_OR_RETURN(const formats::Config file, formats::ParseTomlWithLines(text, path));
  PLINTH_RETURN_IF_ERROR(file.CheckKeys({"schema", "group"}));
  PLINTH_RETURN_IF_ERROR(file.Choice("schema", {"plinth.required/1"}).status());
  PLINTH_ASSIGN_OR_RETURN(const std::vector<formats::Config> tables, file.Sections("group"));
  if (tables.empty()) return file.Refuse("group", "one table [[group]] or more");
  RequiredList list;
  std::set<std::string> names;
  for (const formats::Config& table : tables) {
    PLINTH_RETURN_IF_ERROR(table.CheckKeys({"name", "about", "at_least", "tags", "ids"}));
    Group group;
    PLINTH_ASSIGN_OR_RETURN(group.name, table.Text("name"));
    if (group.name.empty() || !names.insert(group.name).second) {
      return table.Refuse("name", "a name that no other group has");
    }
    PLINTH_ASSIGN_OR_RETURN(group.tags, table.Texts("tags"));
    PLINTH_ASSIGN_OR_RETURN(group.ids, table.Texts("ids"));
    if (group.tags.empty() && group.ids.empty())
      return table.Refuse("tags", "a list of tags, or of ids in \"ids\",");
    PLINTH_ASSIGN_OR_RETURN(group.at_least, table.IntOr("at_least", 1, int64_t{1} << 40, 1));
    std::sort(group.ids.begin(), group.ids.end());
    group.ids.erase(std::unique(group.ids.begin(), group.ids.end()), group.ids.end());
    group.found.assign(group.ids.size(), false);
    list.groups_.push_back(std::move(group));
  }
  PLINTH_ASSIGN_OR_RETURN(list.digest_, Sha256Hex(text));
  return list;
}

void RequiredList::Note(const Sample& sample) {
  for (Group& group : groups_) {
    bool member = std::any_of(sample.tags.begin(), sample.tags.end(), [&](const std::string& tag) {
      return std::find(group.tags.begin(), group.tags.end(), tag) != group.tags.end();
    });
    const auto at = std::lower_bound(group.ids.begin(), group.ids.end(), sample.id);
    if (at != group.ids.end() && *at == sample.id) {
      group.found[static_cast<size_t>(at - group.ids.begin())] = true;
      member = true;
    }
    if (member) group.members.push_back(sample.index);
  }
}

std::vector<GroupRow> RequiredList::Rows() const {
  std::vector<GroupRow> rows;
  for (const Group& group : groups_) {
    GroupRow row{.group = group.name,
                 .required = std::max(group.at_least, static_cast<int64_t>(group.ids.size())),
                 .present = static_cast<int64_t>(group.members.size())};
    for (size_t i = 0; i < group.ids.size(); ++i) {
      if (group.found[i]) continue;
      ++row.missing;
      if (row.missing_ids.size() < kShownIds) row.missing_ids.push_back(group.ids[i]);
    }
    if (row.missing > 0) {
      row.reason =
          StrCat("lacks ",
                 Join(row.missing_ids, ", ", [](const std::string& id) { return formats::QuotedShort(id); }),
                 row.missing > static_cast<int64_t>(kShownIds) ? " and others" : "");
    } else if (row.present < row.required) {
      row.reason =
          StrCat("holds ", row.present, " of at least ", row.required, " samples",
                 group.tags.empty() ? "" : " with the tag ",
                 Join(group.tags, " or ", [](const std::string& tag) { return formats::QuotedShort(tag); }));
      row.missing = row.required - row.present;
    }
    if (row.missing > 0) row.status = CheckStatus::kMissing;
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace plinth::verify::metrics
