#include "plinth/formats/credential.h"

#include <fcntl.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/kdf.h>
#include <openssl/params.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "plinth/base/check.h"
#include "plinth/base/faults.h"
#include "plinth/base/files.h"
#include "plinth/base/text.h"

namespace plinth::formats {
namespace {

constexpr char kExpected[] = "a key of 32 bytes, or of 64 hexadecimal digits, is expected";

std::string ModeText(mode_t mode) {
  char text[8];
  std::snprintf(text, sizeof(text), "%04o", static_cast<unsigned>(mode & 07777));
  return text;
}

// Whether systemd put the file there for this service.
bool PassedBySystemd(const std::string& path) {
  const char* folder = std::getenv("CREDENTIALS_DIRECTORY");
  return folder != nullptr && *folder != '\0' && path == JoinPath(folder, BaseName(path));
}

Status CheckOwner(const std::string& path, const struct stat& info) {
  if (!S_ISREG(info.st_mode)) {
    return absl::InvalidArgumentError(StrCat(path, ": is not a regular file; ", kExpected));
  }
  const mode_t allowed = PassedBySystemd(path) ? S_IRGRP : 0;
  if ((info.st_mode & 077 & ~allowed) != 0) {
    return absl::PermissionDeniedError(StrCat(path, ": others may read or write this key (mode ",
                                              ModeText(info.st_mode),
                                              "); take a new key, or set mode 0600 if nobody has seen it"));
  }
  if (info.st_uid != geteuid() && info.st_uid != 0 && geteuid() != 0) {
    return absl::PermissionDeniedError(StrCat(path, ": this key belongs to another user"));
  }
  return absl::OkStatus();
}

int Digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// False for anything but a key.
bool Decode(std::string_view text, std::span<std::byte> key) {
  if (text.size() == key.size()) {
    std::memcpy(key.data(), text.data(), key.size());
    return true;
  }
  if (text.ends_with('\n')) text.remove_suffix(1);
  if (text.ends_with('\r')) text.remove_suffix(1);
  if (text.size() != 2 * key.size()) return false;
  for (size_t i = 0; i < key.size(); ++i) {
    const int high = Digit(text[2 * i]), low = Digit(text[2 * i + 1]);
    if (high < 0 || low < 0) return false;
    key[i] = static_cast<std::byte>(high * 16 + low);
  }
  return true;
}

std::mutex in_use_mutex;
CredentialPtr in_use;

}  // namespace

StatusOr<CredentialPtr> Credential::Load(const std::string& path) {
  // O_NONBLOCK: a named pipe in its place must not block.
  const Handle handle(FaultDue(Syscall::kOpen) ? -1 : open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (handle.get() < 0) return FileError(path, "opened", errno);
  struct stat info;
  if (fstat(handle.get(), &info) != 0) return FileError(path, "read", errno);
  PLINTH_RETURN_IF_ERROR(CheckOwner(path, info));
  std::array<char, 2 * kBytes + 3> text;  // one more than the longest that is right
  size_t size = 0;
  while (size < text.size()) {
    const ssize_t n =
        FaultDue(Syscall::kRead) ? -1 : read(handle.get(), text.data() + size, text.size() - size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return FileError(path, "read", errno);
    if (n == 0) break;
    size += static_cast<size_t>(n);
  }
  std::array<std::byte, kBytes> key;
  const bool good = Decode({text.data(), size}, key);
  OPENSSL_cleanse(text.data(), text.size());
  if (!good) {
    return absl::InvalidArgumentError(
        StrCat(path, ": holds ", info.st_size, " bytes that are no key; ", kExpected));
  }
  CredentialPtr credential = Of(key);
  OPENSSL_cleanse(key.data(), key.size());
  return credential;
}

CredentialPtr Credential::Of(std::span<const std::byte> key) {
  PLINTH_CHECK(key.size() == kBytes);
  const std::shared_ptr<Credential> credential(new Credential);
  // Where memory may not be locked the key can be swapped out; docs/serving.md says what helps.
  static_cast<void>(mlock(credential->key_.data(), kBytes) == 0);
  std::memcpy(credential->key_.data(), key.data(), kBytes);
  return credential;
}

Credential::~Credential() { OPENSSL_cleanse(key_.data(), key_.size()); }

Status Credential::Derive(std::span<const std::byte> salt, std::string_view info,
                          std::span<std::byte> out) const {
  const std::unique_ptr<EVP_KDF, decltype(&EVP_KDF_free)> algorithm(EVP_KDF_fetch(nullptr, "HKDF", nullptr),
                                                                    &EVP_KDF_free);
  const std::unique_ptr<EVP_KDF_CTX, decltype(&EVP_KDF_CTX_free)> context(
      algorithm == nullptr ? nullptr : EVP_KDF_CTX_new(algorithm.get()), &EVP_KDF_CTX_free);
  char digest[] = "SHA256";
  const auto bytes = [](const char* name, const void* data, size_t size) {
    return OSSL_PARAM_construct_octet_string(name, const_cast<void*>(data), size);
  };
  const OSSL_PARAM params[] = {OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest, 0),
                               bytes(OSSL_KDF_PARAM_KEY, key_.data(), key_.size()),
                               bytes(OSSL_KDF_PARAM_SALT, salt.data(), salt.size()),
                               bytes(OSSL_KDF_PARAM_INFO, info.data(), info.size()),
                               OSSL_PARAM_construct_end()};
  const bool good =
      context != nullptr &&
      EVP_KDF_derive(context.get(), reinterpret_cast<unsigned char*>(out.data()), out.size(), params) == 1;
  ERR_clear_error();
  if (good) return absl::OkStatus();
  return absl::UnavailableError("the crypto library refuses HKDF with SHA-256");
}

void UseCredential(CredentialPtr credential) {
  const std::lock_guard lock(in_use_mutex);
  in_use = std::move(credential);
}

CredentialPtr CredentialInUse() {
  const std::lock_guard lock(in_use_mutex);
  return in_use;
}

Status UseCredentialFile(const std::string& path) {
  PLINTH_ASSIGN_OR_RETURN(CredentialPtr credential, Credential::Load(path));
#ifndef __SANITIZE_ADDRESS__  // its search for leaks needs what this forbids
  static_cast<void>(prctl(PR_SET_DUMPABLE, 0) == 0);
#endif
  UseCredential(std::move(credential));
  return absl::OkStatus();
}

}  // namespace plinth::formats
