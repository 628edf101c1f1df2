#include "plinth/evidence/folder_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "plinth/base/faults.h"
#include "plinth/base/interrupt.h"
#include "plinth/evidence/statement.h"
#include "plinth/formats/json.h"

namespace plinth::evidence {
namespace {

constexpr int kMaxDepth = 8;
constexpr size_t kPieceBytes = 1 << 20;

int OpenAt(int folder, const char* name, int flags) {
  return FaultDue(Syscall::kOpen) ? -1 : openat(folder, name, flags | O_NOFOLLOW | O_CLOEXEC);
}

const char* KindOf(mode_t mode) {
  return S_ISLNK(mode)    ? "a symbolic link"
         : S_ISFIFO(mode) ? "a named pipe"
         : S_ISSOCK(mode) ? "a socket"
                          : "a device";
}

}  // namespace

StatusOr<FolderFiles> FolderFiles::Open(const std::string& path) {
  Handle handle(OpenAt(AT_FDCWD, path.c_str(), O_RDONLY | O_DIRECTORY));
  if (handle.get() < 0) {
    const int error = errno;
    struct stat info;
    if (lstat(path.c_str(), &info) == 0 && !S_ISDIR(info.st_mode)) {
      return absl::InvalidArgumentError(StrCat(path, ": is ",
                                               S_ISREG(info.st_mode) ? "a file" : KindOf(info.st_mode),
                                               "; a folder of evidence is expected"));
    }
    return FileError(path, "opened as a folder", error);
  }
  return FolderFiles(path, std::move(handle));
}

StatusOr<FolderFiles::Listing> FolderFiles::List() const {
  Listing listing;
  PLINTH_RETURN_IF_ERROR(ListInto(handle_.get(), "", 1, &listing));
  std::sort(listing.files.begin(), listing.files.end(),
            [](const Listed& a, const Listed& b) { return a.name < b.name; });
  return listing;
}

Status FolderFiles::ListInto(int parent, const std::string& prefix, int depth, Listing* listing) const {
  const std::string place = prefix.empty() ? path_ : PathOf(prefix);
  // A handle of its own: a directory stream closes and moves what it is given.
  const int fd = OpenAt(parent, ".", O_RDONLY | O_DIRECTORY);
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(fd < 0 ? nullptr : fdopendir(fd), &closedir);
  if (stream == nullptr) {
    const Status status = FileError(place, "listed", errno);
    if (fd >= 0) close(fd);
    return status;
  }
  const auto odd = [&](std::string_view name, std::string_view why) {
    listing->odd = StrCat(PathOf(StrCat(prefix, formats::QuotedShort(name))), " ", why);
    return absl::OkStatus();
  };
  while (listing->odd.empty()) {
    errno = 0;
    const dirent* entry = readdir(stream.get());
    if (entry == nullptr) break;
    const std::string name = entry->d_name;
    if (name == "." || name == "..") continue;
    struct stat info;
    if (fstatat(fd, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
      return FileError(PathOf(prefix + name), "read", errno);
    }
    if (!IsGoodFileName(name)) return odd(name, "has a name that no file of evidence has");
    if (S_ISDIR(info.st_mode)) {
      if (depth == kMaxDepth) return odd(name, "lies deeper than folders of evidence go");
      const Handle below(OpenAt(fd, name.c_str(), O_RDONLY | O_DIRECTORY));
      if (below.get() < 0) return FileError(PathOf(prefix + name), "listed", errno);
      const size_t before = listing->files.size();
      PLINTH_RETURN_IF_ERROR(ListInto(below.get(), StrCat(prefix, name, "/"), depth + 1, listing));
      if (listing->odd.empty() && listing->files.size() == before) return odd(name, "is an empty folder");
    } else if (!S_ISREG(info.st_mode)) {
      return odd(name, StrCat("is ", KindOf(info.st_mode), "; evidence holds regular files only"));
    } else if (listing->files.size() == kMaxEvidenceFiles) {
      return odd(name, StrCat("is one more than the ", kMaxEvidenceFiles, " files allowed"));
    } else {
      listing->files.push_back({prefix + name, info.st_size});
    }
  }
  return errno != 0 && listing->odd.empty() ? FileError(place, "listed", errno) : absl::OkStatus();
}

Status FolderFiles::Read(const std::string& name, const std::function<Status(std::string_view)>& take) const {
  // O_NONBLOCK: a named pipe in its place must not block.
  const Handle handle(OpenAt(handle_.get(), name.c_str(), O_RDONLY | O_NONBLOCK));
  if (handle.get() < 0) return FileError(PathOf(name), "opened", errno);
  struct stat info;
  if (fstat(handle.get(), &info) != 0) return FileError(PathOf(name), "read", errno);
  if (!S_ISREG(info.st_mode))
    return absl::InvalidArgumentError(StrCat(PathOf(name), ": is not a regular file"));
  std::string piece(std::min(kPieceBytes, static_cast<size_t>(info.st_size) + 1), '\0');
  while (true) {
    const ssize_t n = FaultDue(Syscall::kRead) ? -1 : read(handle.get(), piece.data(), piece.size());
    if (n == 0) return absl::OkStatus();
    if (n < 0 && errno != EINTR) return FileError(PathOf(name), "read", errno);
    PLINTH_RETURN_IF_ERROR(CheckInterrupted());
    if (n > 0) PLINTH_RETURN_IF_ERROR(take(std::string_view(piece).substr(0, static_cast<size_t>(n))));
  }
}

StatusOr<std::string> FolderFiles::ReadAll(const std::string& name, int64_t limit) const {
  // Before anything is read of a file that may be huge; what grows meanwhile is cut below.
  struct stat info;
  if (fstatat(handle_.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 && info.st_size > limit) {
    return absl::InvalidArgumentError(
        StrCat(PathOf(name), ": holds ", info.st_size, " bytes; at most ", limit, " are allowed"));
  }
  std::string text;
  PLINTH_RETURN_IF_ERROR(Read(name, [&](std::string_view piece) -> Status {
    text += piece;
    if (static_cast<int64_t>(text.size()) <= limit) return absl::OkStatus();
    return absl::InvalidArgumentError(
        StrCat(PathOf(name), ": holds more than the ", limit, " bytes allowed"));
  }));
  return text;
}

bool FolderFiles::StillAt(const std::string& path) const {
  struct stat here, there;
  return fstat(handle_.get(), &here) == 0 && stat(path.c_str(), &there) == 0 && here.st_dev == there.st_dev &&
         here.st_ino == there.st_ino;
}

}  // namespace plinth::evidence
