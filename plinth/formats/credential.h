// Holds the key of encrypted model files.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "plinth/base/status.h"

namespace plinth::formats {

// 32 secret bytes, wiped at the end. Thread-safe.
class Credential {
 public:
  static constexpr size_t kBytes = 32;

  // Reads a file of 32 bytes, or of 64 hexadecimal digits and perhaps a line's end. Errors: FileError;
  // PermissionDenied where others may read or write it, or another user owns it; InvalidArgument for another
  // content. What systemd passes in $CREDENTIALS_DIRECTORY may show a group's right to read: systemd lets one
  // user in by an access list, whose mask stands there.
  static StatusOr<std::shared_ptr<const Credential>> Load(const std::string& path);
  // `key` has kBytes bytes.
  static std::shared_ptr<const Credential> Of(std::span<const std::byte> key);

  ~Credential();
  Credential(const Credential&) = delete;
  Credential& operator=(const Credential&) = delete;

  // HKDF-SHA256 (RFC 5869) of the key: fills `out`. Error: Unavailable where the crypto library refuses.
  Status Derive(std::span<const std::byte> salt, std::string_view info, std::span<std::byte> out) const;

 private:
  Credential() = default;
  std::array<std::byte, kBytes> key_{};
};
using CredentialPtr = std::shared_ptr<const Credential>;

// The credential that this process opens encrypted model folders with; null: none. Thread-safe.
void UseCredential(CredentialPtr credential);
CredentialPtr CredentialInUse();
// Reads the file, uses its key, and keeps this process's memory out of core dumps and from other processes of
// the same user: packed weights are as secret as the file they came from. Errors: as Credential::Load.
Status UseCredentialFile(const std::string& path);

}  // namespace plinth::formats
