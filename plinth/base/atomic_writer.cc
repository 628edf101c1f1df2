#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <utility>

#include "plinth/base/check.h"
#include "plinth/base/faults.h"
#include "plinth/base/files.h"
#include "plinth/base/interrupt.h"

namespace plinth {
namespace {

constexpr size_t kBufferBytes = 256 << 10;
constexpr int kTemporaryNames = 100;  // left-overs of killed processes with our process id, at most

std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == path.npos) return ".";
  return path.substr(0, slash == 0 ? 1 : slash);
}

// Makes a new file with a name that nobody else uses in `folder`.
Handle MakeTemporary(const std::string& folder, mode_t mode, std::string* name) {
  static std::atomic<unsigned> counter{0};
  for (int i = 0; i < kTemporaryNames; ++i) {
    // The name does not hold the target's, which may already have the greatest length allowed.
    *name = JoinPath(folder, StrCat(".plinth-", getpid(), "-", counter++, ".tmp"));
    const int fd =
        FaultDue(Syscall::kOpen) ? -1 : open(name->c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (fd >= 0) return Handle(fd);
    if (errno != EEXIST && errno != EINTR) break;
  }
  return Handle();
}

int Fsync(int fd) { return FaultDue(Syscall::kFsync) ? -1 : fsync(fd); }

// A file system that cannot flush a folder (or a pipe) says EINVAL; that is no error of ours.
bool CannotFsync(int error) { return error == EINVAL || error == ENOTSUP || error == EROFS; }

}  // namespace

StatusOr<AtomicWriter> AtomicWriter::Create(const std::string& path) {
  AtomicWriter writer;
  writer.path_ = path;
  writer.target_ = path;
  writer.buffer_.reserve(kBufferBytes);
  struct stat info;
  const bool exists = stat(path.c_str(), &info) == 0;
  if (exists && S_ISDIR(info.st_mode)) {
    return absl::InvalidArgumentError(StrCat(path, ": is a folder; a file is expected"));
  }
  if (exists && !S_ISREG(info.st_mode)) {
    writer.handle_ = Handle(FaultDue(Syscall::kOpen) ? -1 : open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (writer.handle_.get() < 0) return FileError(path, "opened for writing", errno);
    return writer;
  }
  if (exists) {
    const std::unique_ptr<char, decltype(&std::free)> real(realpath(path.c_str(), nullptr), &std::free);
    if (real != nullptr) writer.target_ = real.get();
    // Replacing needs no permission on the file itself; a file made read-only is meant to stay.
    if (access(path.c_str(), W_OK) != 0) return FileError(path, "written", errno);
  }
  writer.handle_ = MakeTemporary(FolderOf(writer.target_), 0666, &writer.temporary_);
  if (writer.handle_.get() < 0) {
    writer.temporary_.clear();
    return FileError(path, "written", errno);
  }
  // The replaced file's mode is kept; failing to keep it is no reason to lose the data.
  if (exists) static_cast<void>(fchmod(writer.handle_.get(), info.st_mode & 0777) == 0);
  return writer;
}

AtomicWriter::AtomicWriter(AtomicWriter&& other) noexcept { *this = std::move(other); }

AtomicWriter& AtomicWriter::operator=(AtomicWriter&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(target_, other.target_);
  std::swap(temporary_, other.temporary_);
  std::swap(handle_, other.handle_);
  std::swap(buffer_, other.buffer_);
  std::swap(status_, other.status_);
  return *this;
}

AtomicWriter::~AtomicWriter() { Abandon(); }

void AtomicWriter::Abandon() {
  handle_.Close();
  if (!temporary_.empty()) unlink(temporary_.c_str());
  temporary_.clear();
}

Status AtomicWriter::Fail(std::string_view what, int error) {
  status_ = FileError(path_, what, error);
  Abandon();
  return status_;
}

Status AtomicWriter::WriteAll(const char* data, size_t size) {
  while (size > 0) {
    const ssize_t n = FaultDue(Syscall::kWrite) ? -1 : write(handle_.get(), data, size);
    if (n < 0 && errno == EINTR && !Interrupted()) continue;
    if (n < 0) return Fail("written", errno);
    data += n;
    size -= static_cast<size_t>(n);
  }
  return absl::OkStatus();
}

Status AtomicWriter::Flush() {
  const Status status = WriteAll(buffer_.data(), buffer_.size());
  buffer_.clear();
  return status;
}

Status AtomicWriter::Write(std::string_view text) {
  PLINTH_RETURN_IF_ERROR(status_);
  if (buffer_.size() + text.size() > kBufferBytes) PLINTH_RETURN_IF_ERROR(Flush());
  if (text.size() >= kBufferBytes) return WriteAll(text.data(), text.size());
  buffer_ += text;
  return absl::OkStatus();
}

Status AtomicWriter::Write(std::span<const std::byte> bytes) {
  return Write(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

Status AtomicWriter::Commit() {
  PLINTH_RETURN_IF_ERROR(status_);
  PLINTH_CHECK(handle_.get() >= 0);
  PLINTH_RETURN_IF_ERROR(Flush());
  if (Fsync(handle_.get()) != 0 && !CannotFsync(errno)) return Fail("flushed to the disk", errno);
  // Network file systems report a full disk or quota only here.
  if (handle_.Close() != 0) return Fail("written", errno);
  if (temporary_.empty()) return absl::OkStatus();
  if (FaultDue(Syscall::kRename) || rename(temporary_.c_str(), target_.c_str()) != 0) {
    return Fail("replaced", errno);
  }
  temporary_.clear();
  const std::string folder = FolderOf(target_);
  Handle handle(FaultDue(Syscall::kOpen) ? -1 : open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // A folder may be writable and not readable; then only its flush is lost, as with most programs.
  if (handle.get() < 0 && errno == EACCES) return absl::OkStatus();
  if (handle.get() < 0 || (Fsync(handle.get()) != 0 && !CannotFsync(errno))) {
    return Fail("made durable, though it was written", errno);
  }
  return absl::OkStatus();
}

Status WriteFile(const std::string& path, std::string_view text) {
  PLINTH_ASSIGN_OR_RETURN(AtomicWriter writer, AtomicWriter::Create(path));
  PLINTH_RETURN_IF_ERROR(writer.Write(text));
  return writer.Commit();
}

}  // namespace plinth
