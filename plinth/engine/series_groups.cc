#include "plinth/engine/series_groups.h"

#include <algorithm>

#include "plinth/base/digest.h"
#include "plinth/base/files.h"

namespace plinth::engine {
namespace {

// Empty for anything but regular files: what came through a pipe is gone.
StatusOr<std::string> DigestOf(const std::string& path, const std::string& future) {
  for (const std::string& file : {path, future}) {
    if (file.empty()) continue;
    const auto mapped = MappedFile::Open(file);
    if (!mapped.ok()) return std::string();
  }
  PLINTH_ASSIGN_OR_RETURN(std::string digest, Sha256OfFile(path));
  if (future.empty()) return digest;
  PLINTH_ASSIGN_OR_RETURN(const std::string second, Sha256OfFile(future));
  return Sha256Hex(StrCat(digest, "\n", second, "\n"));
}

}  // namespace

StatusOr<std::unique_ptr<SeriesGroups>> SeriesGroups::Load(const std::string& path,
                                                           const SeriesColumns& columns,
                                                           const FutureSource& future,
                                                           const Together& together) {
  auto loaded = std::unique_ptr<SeriesGroups>(new SeriesGroups);
  SeriesGroups& all = *loaded;
  PLINTH_ASSIGN_OR_RETURN(all.digest_, DigestOf(path, future.path));
  PLINTH_ASSIGN_OR_RETURN(SeriesFile file, SeriesFile::Open(path, columns, future));
  all.file_ = std::make_unique<SeriesFile>(std::move(file));
  PLINTH_ASSIGN_OR_RETURN(GroupMaker maker, GroupMaker::Make(*all.file_, together));
  all.maker_ = std::make_unique<GroupMaker>(std::move(maker));
  if (!all.file_->note().empty()) all.notes_.push_back(StrCat(path, ": ", all.file_->note()));
  UnitReader reader(*all.file_, together);
  int64_t values = 0;
  for (;;) {
    std::vector<SeriesItem> unit;
    PLINTH_ASSIGN_OR_RETURN(const bool more, reader.Next(&unit));
    if (!more) break;
    for (const SeriesItem& item : unit) {
      values += item.length() * static_cast<int64_t>(item.values.size() + item.covariates.size());
      all.notes_.insert(all.notes_.end(), item.notes.begin(), item.notes.end());
    }
    if (values > kMostValues) {
      return absl::ResourceExhaustedError(StrCat(path, ": holds more than ", kMostValues,
                                                 " values; a capture keeps all series at once, a file of "
                                                 "fewer is needed"));
    }
    all.units_.push_back(std::move(unit));
  }
  for (const auto& unit : all.units_) {
    std::vector<Window> windows;
    for (const SeriesItem& item : unit) windows.push_back({&item, item.length()});
    all.maker_->Add(windows, future.steps);
  }
  all.notes_.insert(all.notes_.end(), all.maker_->notes().begin(), all.maker_->notes().end());
  return loaded;
}

}  // namespace plinth::engine
