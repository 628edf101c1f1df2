// Reads files, maps them, and replaces them so that a crash leaves the old or the new one, never half.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plinth/base/status.h"

namespace plinth {

// "PATH: cannot be WHAT: ERRNO TEXT", with the code that leads to the right exit code: NotFound,
// PermissionDenied, ResourceExhausted (no space, quota, handles, memory), InvalidArgument (a folder
// where a file is expected, a name too long), else Unavailable.
Status FileError(std::string_view path, std::string_view what, int error);

// A file descriptor that closes itself.
class Handle {
 public:
  Handle() = default;
  explicit Handle(int fd) : fd_(fd) {}
  ~Handle() { Close(); }
  Handle(Handle&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  Handle& operator=(Handle&& other) noexcept;
  int get() const { return fd_; }
  // What close(2) returned; 0 where nothing was open.
  int Close();

 private:
  int fd_ = -1;
};

// A file read from front to back; pipes and devices will do.
class InputFile {
 public:
  // Errors: FileError; InvalidArgument for a folder.
  static StatusOr<InputFile> Open(std::string path);
  // What this process gets as "standard input", from where it stands. Errors: FileError.
  static StatusOr<InputFile> StandardInput();

  // Reads up to `size` bytes; fewer only at the end of the file, where it gives 0.
  // Errors: FileError; Cancelled when a signal came while it waited (see interrupt.h).
  StatusOr<size_t> Read(char* to, size_t size);

  const std::string& path() const { return path_; }
  // Bytes of a regular file when it was opened; 0 for a pipe or device.
  int64_t size() const { return size_; }

 private:
  InputFile(std::string path, Handle handle, int64_t size)
      : path_(std::move(path)), handle_(std::move(handle)), size_(size) {}
  std::string path_;
  Handle handle_;
  int64_t size_;
};

// The rest of the file. Errors: as InputFile; InvalidArgument for more than `limit` bytes.
StatusOr<std::string> ReadAll(InputFile& file, int64_t limit);

// The whole file. Errors: as InputFile; InvalidArgument for more than `limit` bytes.
StatusOr<std::string> ReadFile(const std::string& path, int64_t limit);

// A regular file mapped read-only. Whoever shrinks a mapped file makes its readers die of SIGBUS, as
// with every program that maps; AtomicWriter replaces files and is therefore safe beside readers.
class MappedFile {
 public:
  // Errors: FileError; InvalidArgument for anything but a regular file.
  static StatusOr<MappedFile> Open(std::string path);
  MappedFile() = default;
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;

  std::span<const std::byte> bytes() const { return {data_, static_cast<size_t>(size_)}; }
  int64_t size() const { return size_; }
  const std::string& path() const { return path_; }

  // Gives the memory of the pages that hold [offset, offset + length) back to the system; a later
  // read fetches them again. Only saves memory, so it cannot fail.
  void Release(int64_t offset, int64_t length) const;

 private:
  std::string path_;
  const std::byte* data_ = nullptr;
  int64_t size_ = 0;
};

// Writes a file beside its final place and moves it there at the end. Until Commit succeeds the old
// file stays as it was; a writer that is dropped leaves nothing behind. A path that is a pipe or a
// device (/dev/stdout) is written straight through; a symbolic link is followed, not replaced.
class AtomicWriter {
 public:
  // Errors: FileError (no such folder, no permission, no space); InvalidArgument for a folder.
  static StatusOr<AtomicWriter> Create(const std::string& path);
  AtomicWriter(AtomicWriter&&) noexcept;
  AtomicWriter& operator=(AtomicWriter&&) noexcept;
  ~AtomicWriter();

  // Errors: FileError. After an error the writer takes nothing more and Commit repeats the error.
  Status Write(std::string_view text);
  Status Write(std::span<const std::byte> bytes);

  // Flushes to the disk, renames, and flushes the folder. Call it once. Errors: FileError.
  Status Commit();

 private:
  AtomicWriter() = default;
  Status Flush();
  Status WriteAll(const char* data, size_t size);
  Status Fail(std::string_view what, int error);
  void Abandon();

  std::string path_;       // as the caller wrote it, for messages
  std::string target_;     // with symbolic links resolved
  std::string temporary_;  // empty: nothing to rename or to remove
  Handle handle_;
  std::string buffer_;
  Status status_;
};

// Create, Write and Commit in one call.
Status WriteFile(const std::string& path, std::string_view text);

// "folder/name"; `folder` may end in a slash or be empty.
std::string JoinPath(std::string_view folder, std::string_view name);
// The part after the last slash ("name" of "folder/name/" too).
std::string BaseName(std::string_view path);
bool IsFolder(const std::string& path);
bool FileExists(const std::string& path);
// Whether both paths lead to one file that exists, by device and inode.
bool SameFile(const std::string& a, const std::string& b);
// Names in a folder, sorted, without "." and "..". Errors: FileError.
StatusOr<std::vector<std::string>> ListFolder(const std::string& path);
// Makes the folder and those above it; fine where it exists. Errors: FileError.
Status MakeFolders(const std::string& path);

}  // namespace plinth
