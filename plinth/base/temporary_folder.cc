#include "plinth/base/temporary_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "plinth/base/check.h"
#include "plinth/base/faults.h"
#include "plinth/base/files.h"

namespace plinth {
namespace {

constexpr int kNames = 100;  // left-overs of killed processes with our process id, at most

bool Exists(const std::string& path) {
  struct stat info;
  return lstat(path.c_str(), &info) == 0;
}

std::string ParentOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == path.npos ? "." : path.substr(0, slash == 0 ? 1 : slash);
}

// A folder that cannot be read can still be written into; then only its flush is lost, as with file systems
// that know none.
void FlushFolder(const std::string& path) {
  const Handle handle(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (handle.get() >= 0) static_cast<void>(fsync(handle.get()) == 0);
}

// A folder of a name that nobody else uses; empty with errno set where there can be none.
std::string MakeIn(const std::string& parent) {
  static std::atomic<unsigned> counter{0};
  for (int i = 0; i < kNames; ++i) {
    std::string name = JoinPath(parent, StrCat(".plinth-", getpid(), "-", counter++, ".folder.tmp"));
    if (!FaultDue(Syscall::kOpen) && mkdir(name.c_str(), 0777) == 0) return name;
    if (errno != EEXIST) break;
  }
  return "";
}

}  // namespace

StatusOr<TemporaryFolder> TemporaryFolder::MakeFor(const std::string& place) {
  std::string trimmed = place;
  while (trimmed.size() > 1 && trimmed.ends_with('/')) trimmed.pop_back();
  if (trimmed.empty()) return absl::InvalidArgumentError("the name of the folder to make is empty");
  if (Exists(trimmed)) {
    return absl::AlreadyExistsError(
        StrCat(place, ": exists already and is not overwritten; name a new folder"));
  }
  std::string path = MakeIn(ParentOf(trimmed));
  if (path.empty()) return FileError(place, "made a folder", errno);
  return TemporaryFolder(std::move(path), std::move(trimmed));
}

StatusOr<TemporaryFolder> TemporaryFolder::Make() {
  const char* wanted = std::getenv("TMPDIR");
  const std::string parent = wanted != nullptr && *wanted != '\0' ? wanted : "/tmp";
  std::string path = MakeIn(parent);
  if (path.empty()) return FileError(parent, "given a temporary folder", errno);
  return TemporaryFolder(std::move(path), "");
}

Status TemporaryFolder::Move() {
  PLINTH_CHECK(!path_.empty() && !place_.empty());
  FlushFolder(path_);
  // Moving onto an empty folder would succeed.
  Status status;
  if (Exists(place_)) {
    status = absl::AlreadyExistsError(StrCat(place_, ": came to exist while it was being written"));
  } else if (FaultDue(Syscall::kRename) || rename(path_.c_str(), place_.c_str()) != 0) {
    status = FileError(place_, "written", errno);
  }
  if (!status.ok()) {
    Remove();
    return status;
  }
  path_.clear();
  FlushFolder(ParentOf(place_));
  return absl::OkStatus();
}

Status TemporaryFolder::Named(const Status& error) const {
  std::string message(error.message());
  const size_t at = path_.empty() || place_.empty() ? message.npos : message.find(path_);
  if (at == message.npos) return error;
  return Status(error.code(), message.replace(at, path_.size(), place_));
}

void TemporaryFolder::Remove() {
  if (path_.empty()) return;
  std::error_code error;
  std::filesystem::remove_all(path_, error);
  path_.clear();
}

}  // namespace plinth
