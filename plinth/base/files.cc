#include "plinth/base/files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

#include "plinth/base/faults.h"
#include "plinth/base/interrupt.h"

namespace plinth {
namespace {

int OpenFd(const char* path, int flags) {
  while (true) {
    const int fd = FaultDue(Syscall::kOpen) ? -1 : open(path, flags | O_CLOEXEC);
    if (fd >= 0 || errno != EINTR || Interrupted()) return fd;
  }
}

absl::StatusCode CodeOf(int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return absl::StatusCode::kNotFound;
    case EACCES:
    case EPERM:
    case EROFS:
      return absl::StatusCode::kPermissionDenied;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
      return absl::StatusCode::kResourceExhausted;
    case EISDIR:
    case ENAMETOOLONG:
    case ELOOP:
    case EINVAL:
      return absl::StatusCode::kInvalidArgument;
    case EINTR:
      return absl::StatusCode::kCancelled;
    default:
      return absl::StatusCode::kUnavailable;
  }
}

}  // namespace

Status FileError(std::string_view path, std::string_view what, int error) {
  const char* text = strerrordesc_np(error);
  return Status(CodeOf(error), StrCat(path, ": cannot be ", what, ": ",
                                      text != nullptr ? std::string(text) : StrCat("error ", error)));
}

Handle& Handle::operator=(Handle&& other) noexcept {
  if (this != &other) {
    Close();
    fd_ = std::exchange(other.fd_, -1);
  }
  return *this;
}

int Handle::Close() { return fd_ < 0 ? 0 : close(std::exchange(fd_, -1)); }

StatusOr<InputFile> InputFile::StandardInput() {
  constexpr const char* kName = "standard input";
  Handle handle(FaultDue(Syscall::kOpen) ? -1 : fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0));
  if (handle.get() < 0) return FileError(kName, "read", errno);
  return InputFile(kName, std::move(handle), 0);
}

StatusOr<InputFile> InputFile::Open(std::string path) {
  Handle handle(OpenFd(path.c_str(), O_RDONLY));
  if (handle.get() < 0) return FileError(path, "opened", errno);
  struct stat info;
  if (fstat(handle.get(), &info) != 0) return FileError(path, "read", errno);
  if (S_ISDIR(info.st_mode)) {
    return absl::InvalidArgumentError(StrCat(path, ": is a folder; a file is expected"));
  }
  const int64_t size = S_ISREG(info.st_mode) ? info.st_size : 0;
  return InputFile(std::move(path), std::move(handle), size);
}

StatusOr<size_t> InputFile::Read(char* to, size_t size) {
  size_t done = 0;
  while (done < size) {
    const ssize_t n = FaultDue(Syscall::kRead) ? -1 : read(handle_.get(), to + done, size - done);
    if (n > 0) {
      done += static_cast<size_t>(n);
    } else if (n == 0) {
      break;
    } else if (errno != EINTR) {
      return FileError(path_, "read", errno);
    } else {
      PLINTH_RETURN_IF_ERROR(CheckInterrupted());
    }
  }
  return done;
}

StatusOr<std::string> ReadFile(const std::string& path, int64_t limit) {
  PLINTH_ASSIGN_OR_RETURN(InputFile file, InputFile::Open(path));
  return ReadAll(file, limit);
}

StatusOr<std::string> ReadAll(InputFile& file, int64_t limit) {
  if (file.size() > limit) {
    return absl::InvalidArgumentError(
        StrCat(file.path(), ": holds ", file.size(), " bytes; at most ", limit, " are allowed"));
  }
  std::string text;
  // A pipe does not tell its size, and a file may grow while it is read: read until the end.
  for (size_t piece = static_cast<size_t>(file.size()) + 1;; piece = 64 << 10) {
    const size_t had = text.size();
    text.resize(had + piece);
    PLINTH_ASSIGN_OR_RETURN(const size_t got, file.Read(text.data() + had, piece));
    text.resize(had + got);
    if (static_cast<int64_t>(text.size()) > limit) {
      return absl::InvalidArgumentError(
          StrCat(file.path(), ": holds more than the ", limit, " bytes allowed"));
    }
    if (got < piece) return text;
  }
}

StatusOr<MappedFile> MappedFile::Open(std::string path) {
  // O_NONBLOCK: a named pipe in place of the file must not block the program.
  Handle handle(OpenFd(path.c_str(), O_RDONLY | O_NONBLOCK));
  if (handle.get() < 0) return FileError(path, "opened", errno);
  struct stat info;
  if (fstat(handle.get(), &info) != 0) return FileError(path, "read", errno);
  if (!S_ISREG(info.st_mode)) {
    return absl::InvalidArgumentError(StrCat(
        path, S_ISDIR(info.st_mode) ? ": is a folder; a file is expected" : ": is not a regular file"));
  }
  MappedFile file;
  file.path_ = std::move(path);
  if (info.st_size == 0) return file;  // mmap refuses an empty range
  void* data = FaultDue(Syscall::kMmap) ? MAP_FAILED
                                        : mmap(nullptr, static_cast<size_t>(info.st_size), PROT_READ,
                                               MAP_PRIVATE, handle.get(), 0);
  if (data == MAP_FAILED) return FileError(file.path_, "mapped", errno);
  file.data_ = static_cast<const std::byte*>(data);
  file.size_ = info.st_size;
  return file;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) munmap(const_cast<std::byte*>(data_), static_cast<size_t>(size_));
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : path_(std::move(other.path_)),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

void MappedFile::Release(int64_t offset, int64_t length) const {
  const int64_t begin = std::clamp<int64_t>(offset, 0, size_);
  const int64_t end = begin + std::clamp<int64_t>(length, 0, size_ - begin);
  if (begin == end) return;
  // The mapping starts on a page, so rounding the offset down is enough; the kernel rounds the end up.
  // A page shared with a neighbour is fetched again from the page cache when the neighbour is read.
  const int64_t page = sysconf(_SC_PAGESIZE);
  const int64_t first = begin / page * page;
  madvise(const_cast<std::byte*>(data_) + first, static_cast<size_t>(end - first), MADV_DONTNEED);
}

std::string JoinPath(std::string_view folder, std::string_view name) {
  if (folder.empty()) return std::string(name);
  return StrCat(folder, folder.ends_with('/') ? "" : "/", name);
}

std::string BaseName(std::string_view path) {
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  const size_t slash = path.rfind('/');
  return std::string(slash == path.npos || path.size() == 1 ? path : path.substr(slash + 1));
}

bool IsFolder(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

bool SameFile(const std::string& a, const std::string& b) {
  struct stat x {
  }, y{};
  return stat(a.c_str(), &x) == 0 && stat(b.c_str(), &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

bool FileExists(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 && !S_ISDIR(info.st_mode);
}

StatusOr<std::vector<std::string>> ListFolder(const std::string& path) {
  std::unique_ptr<DIR, int (*)(DIR*)> folder(FaultDue(Syscall::kOpen) ? nullptr : opendir(path.c_str()),
                                             &closedir);
  if (folder == nullptr) return FileError(path, "listed", errno);
  std::vector<std::string> names;
  while (true) {
    errno = 0;
    const dirent* entry = readdir(folder.get());
    if (entry == nullptr) break;
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  if (errno != 0) return FileError(path, "listed", errno);
  std::sort(names.begin(), names.end());
  return names;
}

Status MakeFolders(const std::string& path) {
  for (size_t slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
    const std::string part = path.substr(0, slash);
    if (mkdir(part.c_str(), 0777) != 0 && !IsFolder(part)) {
      return FileError(part, "made a folder", errno);
    }
    if (slash == path.npos) return absl::OkStatus();
  }
}

}  // namespace plinth
