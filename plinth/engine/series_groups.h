// Reads all series of a file into memory as the groups that a model forecasts: for runs that need them at
// once.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "plinth/engine/grouping.h"
#include "plinth/engine/series_file.h"

namespace plinth::engine {

class SeriesGroups {
 public:
  // Errors: those of SeriesFile; ResourceExhausted for more values than fit kMostValues.
  static constexpr int64_t kMostValues = int64_t{1} << 27;
  static StatusOr<std::unique_ptr<SeriesGroups>> Load(const std::string& path, const SeriesColumns& columns,
                                                      const FutureSource& future, const Together& together);

  std::span<const Group> groups() const { return maker_->groups(); }
  // sha256 of the data file, or over both digests where covariates ahead come from another; empty where a
  // file is none that can be read twice (a pipe).
  const std::string& digest() const { return digest_; }
  // Sentences on what was found on the way.
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  SeriesGroups() = default;
  std::unique_ptr<SeriesFile> file_;
  std::unique_ptr<GroupMaker> maker_;
  std::vector<std::vector<SeriesItem>> units_;  // what the groups point into
  std::string digest_;
  std::vector<std::string> notes_;
};

}  // namespace plinth::engine
