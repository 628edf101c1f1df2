// Checks that the samples that a business cannot do without are there, and finds which belong to which group.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plinth/verify/metrics/metrics.h"
#include "plinth/verify/metrics/samples.h"

namespace plinth::verify::metrics {

// The groups of a list; members are noted as samples come.
class RequiredList {
 public:
  // `schema = "plinth.required/1"` and [[group]] tables with name, at_least, and tags or ids or both. A
  // sample belongs to a group that names its id or one of its tags. Errors: FileError; InvalidArgument.
  static StatusOr<RequiredList> Load(const std::string& path);

  void Note(const Sample& sample);

  size_t size() const { return groups_.size(); }
  // One per group, without scores.
  std::vector<GroupRow> Rows() const;
  // Indices of the samples of a group.
  const std::vector<size_t>& members(size_t group) const { return groups_[group].members; }
  const std::string& digest() const { return digest_; }

 private:
  struct Group {
    std::string name;
    int64_t at_least = 1;
    std::vector<std::string> tags;
    std::vector<std::string> ids;
    std::vector<bool> found;  // of ids
    std::vector<size_t> members;
  };
  std::vector<Group> groups_;
  std::string digest_;
};

}  // namespace plinth::verify::metrics
