// Reads and writes encrypted files: AES-256-GCM in chunks, each verified before its bytes are handed out.
//
// A file is a header, then chunks of `chunk_bytes` plain bytes (the last one shorter, and one empty chunk
// where there are no bytes), each followed by its tag of 16 bytes. Numbers are little-endian.
//
//   0   8  "PLNSEAL1"
//   8   4  chunk_bytes: a power of two in [4096, 16777216]
//   12  4  0
//   16  8  plain bytes of the file
//   24 32  salt, random for each file
//   56 16  the first bytes of SHA-256 of the file's plain name ("config.json")
//   72  8  check: HKDF-SHA256(key, salt, "plinth sealed file 1: check"), which tells a wrong key from damage
//
// Key of the file: HKDF-SHA256(key, salt, "plinth sealed file 1: key"), 32 bytes. Nonce of chunk i, as in
// STREAM (Hoang, Reyhanitabar, Rogaway, Vizár 2015): seven zero bytes, i as 32 bits big-endian, 1 for the
// last chunk and else 0. Additional data: the header, then i as 64 bits. So a chunk is good only in this
// file, under this name, at this place, and the last one only as the last.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plinth/base/files.h"
#include "plinth/base/interrupt.h"
#include "plinth/base/status.h"
#include "plinth/formats/credential.h"

namespace plinth::formats {

// What an encrypted file's name ends in.
inline constexpr std::string_view kSealedSuffix = ".enc";
inline constexpr int64_t kSealedHeaderBytes = 80;
inline constexpr int64_t kSealedTagBytes = 16;
inline constexpr int64_t kSealedChunkBytes = 1 << 20;  // what files are written with
inline constexpr size_t kSealedSaltBytes = 32;

bool IsSealedName(std::string_view path);
// The last part of the path, without the suffix: what the file is called when it is plain.
std::string PlainName(std::string_view path);

// Memory for secrets: in no core dump, in no child process, wiped at the end.
class SecretMemory {
 public:
  SecretMemory() = default;
  // Zeros; pages come as they are touched. Error: ResourceExhausted.
  static StatusOr<SecretMemory> Make(int64_t bytes);
  ~SecretMemory();
  SecretMemory(SecretMemory&& other) noexcept;
  SecretMemory& operator=(SecretMemory&& other) noexcept;

  std::span<std::byte> bytes() const { return {data_, size_}; }
  // Wipes the pages that lie wholly within and gives them back; they read as zeros then.
  void Forget(int64_t begin, int64_t end) const;

 private:
  std::byte* data_ = nullptr;
  size_t size_ = 0;
};

class SealedFile {
 public:
  // Maps the file and checks its header and that `credential` is its key; no chunk yet. Errors: as
  // MappedFile::Open; DataLoss in one line that says what is wrong and what is likely.
  static StatusOr<SealedFile> Open(const std::string& path, const CredentialPtr& credential);
  // The same for bytes in memory, which must outlive the result; `path` stands for the file.
  static StatusOr<SealedFile> OfBytes(std::span<const std::byte> bytes, std::string path,
                                      const CredentialPtr& credential);
  ~SealedFile();
  SealedFile(SealedFile&&) noexcept;
  SealedFile& operator=(SealedFile&&) noexcept;

  const std::string& path() const;
  int64_t plain_bytes() const;
  int64_t chunk_bytes() const;
  int64_t chunks() const;  // at least 1
  // The plain bytes [begin, end) that a chunk holds.
  int64_t ChunkBegin(int64_t chunk) const { return chunk * chunk_bytes(); }
  int64_t ChunkEnd(int64_t chunk) const;

  // Decrypts one chunk to `out`, which has its size. On an error `out` is wiped. Errors: DataLoss that names
  // file and chunk; Unavailable where the crypto library refuses.
  Status Read(int64_t chunk, std::span<std::byte> out) const;

 private:
  struct State;
  explicit SealedFile(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// A sealed file decrypted to memory, whole: it is verified to its end before anybody sees a byte. Parts may
// be let go and fetched again. Not thread-safe.
class UnsealedFile {
 public:
  // Errors: as SealedFile; ResourceExhausted.
  static StatusOr<UnsealedFile> Open(const std::string& path, const CredentialPtr& credential);

  std::span<const std::byte> bytes() const { return memory_.bytes(); }
  const std::string& path() const { return file_.path(); }
  // Lets go of the chunks that lie within; bytes() must not be read there until Fetch.
  void Release(int64_t offset, int64_t length);
  // Decrypts again what was let go. Errors: as SealedFile::Read.
  Status Fetch(int64_t offset, int64_t length);

 private:
  explicit UnsealedFile(SealedFile file) : file_(std::move(file)) {}
  SealedFile file_;
  SecretMemory memory_;
  std::vector<bool> there_;  // by chunk
};

// Writes sealed files.
class Sealer {
 public:
  // Takes what the file will hold: its plain name and how many bytes. Errors: InvalidArgument for more bytes
  // than a file of such chunks can hold; Unavailable where the crypto library refuses.
  static StatusOr<Sealer> Make(const Credential& credential, std::string_view plain_name, int64_t plain_bytes,
                               int64_t chunk_bytes = kSealedChunkBytes);
  // With a salt that is given, for known answers.
  static StatusOr<Sealer> Make(const Credential& credential, std::string_view plain_name, int64_t plain_bytes,
                               int64_t chunk_bytes, std::span<const std::byte, kSealedSaltBytes> salt);
  ~Sealer();
  Sealer(Sealer&&) noexcept;
  Sealer& operator=(Sealer&&) noexcept;

  std::span<const std::byte> header() const;
  int64_t chunks() const;
  // The next chunk with its tag; valid until the next call. All but the last have chunk_bytes.
  StatusOr<std::span<const std::byte>> Next(std::span<const std::byte> plain);

 private:
  struct State;
  explicit Sealer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Encrypts `from` into `to` (atomically; `to` must end in kSealedSuffix and lead back to from's name), or
// decrypts `from` into `to`. Both read and write piece by piece. Errors: FileError; as Sealer and SealedFile;
// DataLoss where the file changed meanwhile; Cancelled.
Status SealFile(const std::string& from, const std::string& to, const Credential& credential);
Status UnsealFile(const std::string& from, const std::string& to, const CredentialPtr& credential);

// A model's file, plain or encrypted (by the name), for readers that want all of it. Encrypted ones are
// opened with CredentialInUse(). Errors: as ReadFile and SealedFile.
StatusOr<std::string> ReadModelFile(const std::string& path, int64_t limit);
// SHA-256 of the plain bytes.
StatusOr<std::string> Sha256OfModelFile(const std::string& path);
// `folder`/`name`, or with the suffix where that is what is there; empty where neither is. Error:
// InvalidArgument where both are.
StatusOr<std::string> FindModelFile(const std::string& folder, std::string_view name);

}  // namespace plinth::formats
