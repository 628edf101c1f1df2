#include "plinth/plan/identity.h"

#include <algorithm>
#include <set>

#include "plinth/base/digest.h"

namespace plinth::plan {
namespace {

bool HasControls(std::string_view text) {
  return std::any_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

}  // namespace

const std::string* NumericsIdentity::Find(std::string_view name) const {
  for (const auto& [part, value] : parts) {
    if (part == name) return &value;
  }
  return nullptr;
}

StatusOr<std::string> NumericsIdentity::Digest() const {
  if (parts.empty()) return absl::InvalidArgumentError("a numerics identity without parts");
  std::set<std::string_view> names;
  Sha256 sha;
  for (const auto& [name, value] : parts) {
    if (name.empty() || name.find('=') != name.npos || HasControls(name) || HasControls(value) ||
        !names.insert(name).second) {
      return absl::InvalidArgumentError(
          StrCat("part ", names.size(),
                 " of the numerics identity: names are unique and hold no equals sign, "
                 "and neither names nor values hold control characters"));
    }
    sha.Update(StrCat(name, "=", value, "\n"));
  }
  return sha.Hex();
}

std::vector<IdentityChange> Changes(const NumericsIdentity& before, const NumericsIdentity& now) {
  std::vector<IdentityChange> changes;
  for (const auto& [name, value] : now.parts) {
    const std::string* old = before.Find(name);
    if (old == nullptr || *old != value) changes.push_back({name, old == nullptr ? "" : *old, value});
  }
  for (const auto& [name, value] : before.parts) {
    if (now.Find(name) == nullptr) changes.push_back({name, value, ""});
  }
  return changes;
}

StatusOr<std::string> GraphDigest(const graph::Graph& graph) { return Sha256Hex(graph.ToString()); }

}  // namespace plinth::plan
