// Keeps the keys of evidence: the local one that signs, made on first use, and the public ones that are
// trusted.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plinth/base/status.h"

namespace plinth::evidence {

// An Ed25519 public key (RFC 8032).
class PublicKey {
 public:
  // `pem`: one or several blocks "PUBLIC KEY" (RFC 7468), with nothing but spaces beside them. `where` (the
  // file) begins every message. Errors: InvalidArgument for anything else: no key, another kind of key, a
  // private key.
  static StatusOr<std::vector<PublicKey>> ParsePem(std::string_view pem, const std::string& where);

  // 64 hex digits: sha256 of the key's SubjectPublicKeyInfo in DER, as
  // `openssl pkey -pubin -in FILE -outform DER | sha256sum` prints it.
  const std::string& keyid() const { return keyid_; }
  // One block in PEM.
  const std::string& pem() const { return pem_; }
  // Whether `signature` is this key's, over exactly `message`.
  bool Verifies(std::string_view message, std::string_view signature) const;

 private:
  friend class SigningKey;
  struct Native;  // the crypto library's key
  // Takes the library's key. Errors: Unavailable where the library refuses.
  static StatusOr<PublicKey> Make(std::shared_ptr<Native> native);
  std::shared_ptr<Native> native_;
  std::string keyid_, pem_;
};

// An Ed25519 private key.
class SigningKey {
 public:
  // A new random key. Errors: Unavailable where the crypto library refuses.
  static StatusOr<SigningKey> Generate();
  // `where` begins every message. Errors: InvalidArgument for anything but an Ed25519 key without pass
  // phrase.
  static StatusOr<SigningKey> ParsePem(std::string_view pem, const std::string& where);
  // Reads a PKCS #8 key in PEM that nobody but its owner may read. Errors: FileError; PermissionDenied for a
  // file that others may read or write, or that belongs to somebody else; InvalidArgument for another
  // content.
  static StatusOr<SigningKey> Load(const std::string& path);

  const PublicKey& public_key() const { return public_; }
  // 64 bytes (Ed25519 without prehash). Errors: Unavailable where the crypto library refuses.
  StatusOr<std::string> Sign(std::string_view message) const;
  // 32 bytes that only this key gives for that purpose: HMAC-SHA256 with the key's seed over "plinth derive:
  // " and the purpose. A secret, which tells nothing about the key. Errors: Unavailable.
  StatusOr<std::string> Derive(std::string_view purpose) const;
  // PKCS #8 in PEM; it is a secret.
  StatusOr<std::string> PrivatePem() const;

 private:
  SigningKey() = default;
  static StatusOr<SigningKey> Make(std::shared_ptr<PublicKey::Native> native);
  std::shared_ptr<PublicKey::Native> native_;
  PublicKey public_;
};

inline constexpr std::string_view kLocalKeyFile = "evidence-key.pem";
inline constexpr std::string_view kLocalPublicKeyFile = "evidence-key.pub.pem";

// The folder of the local key: $XDG_CONFIG_HOME/plinth where that is an absolute path, else ~/.config/plinth.
// Errors: NotFound where neither XDG_CONFIG_HOME nor HOME says where.
StatusOr<std::string> KeyFolder();

struct LocalKey {
  SigningKey key;
  std::string path;   // of the private key
  bool made = false;  // by this call: the caller says so
};

// The local key in `folder` (KeyFolder()), made where there is none: folder mode 0700, key mode 0600, the
// public half beside it. Whole or not at all at any instant; of several processes that make one at once, all
// get the same. Errors: as SigningKey::Load; PermissionDenied for a folder that others may write; FileError.
StatusOr<LocalKey> LoadOrMakeLocalKey(const std::string& folder);

// The public keys that evidence is checked against.
class TrustedKeys {
 public:
  TrustedKeys() = default;
  // The local key in `local_folder` where there is one (none is made; empty: do not look), and those of
  // `key_files`. Errors: as SigningKey::Load, PublicKey::ParsePem and FileError.
  static StatusOr<TrustedKeys> Load(const std::string& local_folder, std::span<const std::string> key_files);

  // A key that is local and named counts as named.
  void Add(PublicKey key, bool local);
  struct Entry {
    PublicKey key;
    bool local;  // what it signs is self-attested
  };
  const std::vector<Entry>& entries() const { return entries_; }
  // Null where there is none.
  const Entry* Find(std::string_view keyid) const;

 private:
  std::vector<Entry> entries_;
};

}  // namespace plinth::evidence
