#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "plinth/base/faults.h"
#include "plinth/base/files.h"
#include "plinth/evidence/keys.h"

namespace plinth::evidence {
namespace {

constexpr int64_t kMaxKeyBytes = 64 << 10;

std::string ModeText(mode_t mode) {
  char text[8];
  std::snprintf(text, sizeof(text), "%04o", static_cast<unsigned>(mode & 07777));
  return text;
}

// Whoever can write the folder can put a key of his own there.
Status CheckFolder(const std::string& folder) {
  struct stat info;
  if (stat(folder.c_str(), &info) != 0) return FileError(folder, "read", errno);
  if ((info.st_mode & 022) != 0) {
    return absl::PermissionDeniedError(StrCat(folder, ": others may write in this folder (mode ",
                                              ModeText(info.st_mode), "); keys need a folder of mode 0700"));
  }
  return absl::OkStatus();
}

// Writes and flushes a new file of that mode beside `path`; gives its name.
StatusOr<std::string> WriteBeside(const std::string& path, std::string_view text, mode_t mode) {
  std::string temporary = StrCat(path, ".", getpid(), ".tmp");
  unlink(temporary.c_str());  // left over from a killed process of this number
  Handle handle(
      FaultDue(Syscall::kOpen) ? -1 : open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
  if (handle.get() < 0) return FileError(path, "written", errno);
  const auto fail = [&] {
    const Status status = FileError(path, "written", errno);
    unlink(temporary.c_str());
    return status;
  };
  if (fchmod(handle.get(), mode) != 0) return fail();  // whatever the umask
  while (!text.empty()) {
    const ssize_t n = FaultDue(Syscall::kWrite) ? -1 : write(handle.get(), text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail();
    text.remove_prefix(static_cast<size_t>(n));
  }
  if (FaultDue(Syscall::kFsync) || fsync(handle.get()) != 0) return fail();
  if (handle.Close() != 0) return fail();
  return temporary;
}

void FlushFolder(const std::string& folder) {
  const Handle handle(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // What cannot be flushed is not lost by that: the key is used from the next instant on.
  if (handle.get() >= 0) static_cast<void>(fsync(handle.get()) == 0);
}

// Puts a whole new file at `path`; false where another process was first, whose file then stays.
StatusOr<bool> PlaceNew(const std::string& path, std::string_view text, mode_t mode) {
  PLINTH_ASSIGN_OR_RETURN(const std::string temporary, WriteBeside(path, text, mode));
  // A link never replaces a file, unlike a rename. Some file systems have no links.
  int error = link(temporary.c_str(), path.c_str()) == 0 ? 0 : errno;
  if (error == EPERM || error == ENOTSUP || error == ENOSYS || error == EMLINK) {
    error = renameat2(AT_FDCWD, temporary.c_str(), AT_FDCWD, path.c_str(), RENAME_NOREPLACE) == 0 ? 0 : errno;
  }
  unlink(temporary.c_str());
  if (error != 0 && error != EEXIST) return FileError(path, "written", error);
  return error == 0;
}

// The folder and those above it; those that this call makes are for the owner alone.
Status MakePrivateFolders(const std::string& folder) {
  for (size_t slash = folder.find('/', 1);; slash = folder.find('/', slash + 1)) {
    const std::string part = folder.substr(0, slash);
    if (mkdir(part.c_str(), 0700) != 0 && !IsFolder(part)) return FileError(part, "made a folder", errno);
    if (slash == folder.npos) return absl::OkStatus();
  }
}

StatusOr<LocalKey> LoadLocalKey(const std::string& folder, const std::string& path) {
  PLINTH_RETURN_IF_ERROR(CheckFolder(folder));
  PLINTH_ASSIGN_OR_RETURN(SigningKey key, SigningKey::Load(path));
  return LocalKey{std::move(key), path, false};
}

}  // namespace

StatusOr<SigningKey> SigningKey::Load(const std::string& path) {
  // O_NONBLOCK: a named pipe in its place must not block.
  const Handle handle(FaultDue(Syscall::kOpen) ? -1 : open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (handle.get() < 0) return FileError(path, "opened", errno);
  struct stat info;
  if (fstat(handle.get(), &info) != 0) return FileError(path, "read", errno);
  if (!S_ISREG(info.st_mode)) {
    return absl::InvalidArgumentError(StrCat(path, ": is not a regular file; a private key is expected"));
  }
  if ((info.st_mode & 077) != 0) {
    return absl::PermissionDeniedError(StrCat(path, ": others may read or write this private key (mode ",
                                              ModeText(info.st_mode),
                                              "); take a new key, or set mode 0600 if nobody has seen it"));
  }
  if (info.st_uid != geteuid() && geteuid() != 0) {
    return absl::PermissionDeniedError(StrCat(path, ": this private key belongs to another user"));
  }
  if (info.st_size > kMaxKeyBytes) {
    return absl::InvalidArgumentError(
        StrCat(path, ": holds ", info.st_size, " bytes; a private key has less than ", kMaxKeyBytes));
  }
  std::string text(static_cast<size_t>(info.st_size), '\0');
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t n =
        FaultDue(Syscall::kRead) ? -1 : read(handle.get(), text.data() + done, text.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return FileError(path, "read", errno);
    if (n == 0) break;
    done += static_cast<size_t>(n);
  }
  return ParsePem(std::string_view(text).substr(0, done), path);
}

StatusOr<std::string> KeyFolder() {
  const char* config = std::getenv("XDG_CONFIG_HOME");
  // The XDG base directory specification: a relative path is to be ignored.
  if (config != nullptr && config[0] == '/') return JoinPath(config, "plinth");
  const char* home = std::getenv("HOME");
  if (home != nullptr && home[0] != '\0') return JoinPath(home, ".config/plinth");
  return absl::NotFoundError(
      "no place for keys: neither XDG_CONFIG_HOME nor HOME is set; set one of them to an absolute path");
}

StatusOr<LocalKey> LoadOrMakeLocalKey(const std::string& folder) {
  const std::string path = JoinPath(folder, kLocalKeyFile);
  bool made = false;
  if (!FileExists(path)) {
    PLINTH_RETURN_IF_ERROR(MakePrivateFolders(folder));
    PLINTH_RETURN_IF_ERROR(CheckFolder(folder));
    PLINTH_ASSIGN_OR_RETURN(const SigningKey key, SigningKey::Generate());
    PLINTH_ASSIGN_OR_RETURN(const std::string pem, key.PrivatePem());
    PLINTH_ASSIGN_OR_RETURN(made, PlaceNew(path, pem, 0600));
    FlushFolder(folder);
  }
  // Read back, so that all that make one at once use the one that stayed.
  PLINTH_ASSIGN_OR_RETURN(LocalKey local, LoadLocalKey(folder, path));
  local.made = made;
  // Missing too where a process died between the two files.
  const std::string public_path = JoinPath(folder, kLocalPublicKeyFile);
  if (made || !FileExists(public_path)) {
    PLINTH_RETURN_IF_ERROR(WriteFile(public_path, local.key.public_key().pem()));
  }
  return local;
}

StatusOr<TrustedKeys> TrustedKeys::Load(const std::string& local_folder,
                                        std::span<const std::string> key_files) {
  TrustedKeys keys;
  const std::string path = JoinPath(local_folder, kLocalKeyFile);
  if (!local_folder.empty() && FileExists(path)) {
    PLINTH_ASSIGN_OR_RETURN(const LocalKey local, LoadLocalKey(local_folder, path));
    keys.Add(local.key.public_key(), /*local=*/true);
  }
  for (const std::string& file : key_files) {
    PLINTH_ASSIGN_OR_RETURN(const std::string pem, ReadFile(file, kMaxKeyBytes));
    PLINTH_ASSIGN_OR_RETURN(std::vector<PublicKey> named, PublicKey::ParsePem(pem, file));
    for (PublicKey& key : named) keys.Add(std::move(key), /*local=*/false);
  }
  return keys;
}

}  // namespace plinth::evidence
