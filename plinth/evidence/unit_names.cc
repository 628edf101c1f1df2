#include "plinth/evidence/unit_names.h"

#include "plinth/base/digest.h"
#include "plinth/base/files.h"

namespace plinth::evidence {

std::pair<std::string, std::string> SplitHistoryName(const std::string& name) {
  const size_t dash = name.size() > 65 ? name.size() - 65 : 0;
  if (dash == 0 || name[0] == '.' || name[dash] != '-' || name[dash - 1] != 'Z' ||
      !IsHexDigest(std::string_view(name).substr(dash + 1))) {
    return {};
  }
  return {name.substr(0, dash), name.substr(dash + 1)};
}

bool IsLater(std::string_view a, std::string_view b) {
  if (a.ends_with('Z')) a.remove_suffix(1);
  if (b.ends_with('Z')) b.remove_suffix(1);
  return a > b;
}

StatusOr<std::string> LaterUnit(const std::string& root, const std::string& identity, std::string_view time) {
  const std::string history = JoinPath(root, "history");
  const auto names = ListFolder(history);
  if (absl::IsNotFound(names.status())) return std::string();
  PLINTH_RETURN_IF_ERROR(names.status());
  std::string found, latest(time);
  for (const std::string& name : *names) {
    const auto [other_time, other_identity] = SplitHistoryName(name);
    if (other_identity != identity || !IsLater(other_time, latest)) continue;
    latest = other_time;
    found = JoinPath(history, name);
  }
  return found;
}

}  // namespace plinth::evidence
