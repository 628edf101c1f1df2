#include <openssl/crypto.h>

#include <algorithm>

#include "plinth/base/check.h"
#include "plinth/base/digest.h"
#include "plinth/base/interrupt.h"
#include "plinth/formats/sealed_file.h"

namespace plinth::formats {
namespace {

// Hands the plain bytes on, chunk by chunk, each verified.
template <typename Take>
Status ForEachChunk(const SealedFile& file, Take take) {
  PLINTH_ASSIGN_OR_RETURN(const SecretMemory memory,
                          SecretMemory::Make(std::min(file.chunk_bytes(), file.plain_bytes())));
  for (int64_t i = 0; i < file.chunks(); ++i) {
    PLINTH_RETURN_IF_ERROR(CheckInterrupted());
    const auto chunk = memory.bytes().first(static_cast<size_t>(file.ChunkEnd(i) - file.ChunkBegin(i)));
    PLINTH_RETURN_IF_ERROR(file.Read(i, chunk));
    PLINTH_RETURN_IF_ERROR(take(std::span<const std::byte>(chunk)));
  }
  return absl::OkStatus();
}

}  // namespace

Status SealFile(const std::string& from, const std::string& to, const Credential& credential) {
  PLINTH_CHECK(IsSealedName(to));
  PLINTH_ASSIGN_OR_RETURN(InputFile input, InputFile::Open(from));
  PLINTH_ASSIGN_OR_RETURN(Sealer sealer, Sealer::Make(credential, PlainName(to), input.size()));
  PLINTH_ASSIGN_OR_RETURN(AtomicWriter writer, AtomicWriter::Create(to));
  PLINTH_RETURN_IF_ERROR(writer.Write(sealer.header()));
  PLINTH_ASSIGN_OR_RETURN(const SecretMemory memory, SecretMemory::Make(kSealedChunkBytes));
  const Status changed = absl::DataLossError(
      StrCat(from, ": changed while it was read; encrypt it again once nobody writes it"));
  int64_t left = input.size();
  for (int64_t i = 0; i < sealer.chunks(); ++i) {
    PLINTH_RETURN_IF_ERROR(CheckInterrupted());
    const size_t size = static_cast<size_t>(std::min(left, kSealedChunkBytes));
    PLINTH_ASSIGN_OR_RETURN(const size_t got,
                            input.Read(reinterpret_cast<char*>(memory.bytes().data()), size));
    if (got != size) return changed;
    left -= static_cast<int64_t>(size);
    PLINTH_ASSIGN_OR_RETURN(const std::span<const std::byte> chunk, sealer.Next(memory.bytes().first(size)));
    PLINTH_RETURN_IF_ERROR(writer.Write(chunk));
  }
  char more = 0;
  PLINTH_ASSIGN_OR_RETURN(const size_t beyond, input.Read(&more, 1));
  if (beyond != 0) return changed;
  return writer.Commit();
}

Status UnsealFile(const std::string& from, const std::string& to, const CredentialPtr& credential) {
  PLINTH_ASSIGN_OR_RETURN(const SealedFile file, SealedFile::Open(from, credential));
  PLINTH_ASSIGN_OR_RETURN(AtomicWriter writer, AtomicWriter::Create(to));
  PLINTH_RETURN_IF_ERROR(
      ForEachChunk(file, [&](std::span<const std::byte> chunk) { return writer.Write(chunk); }));
  return writer.Commit();
}

StatusOr<std::string> ReadModelFile(const std::string& path, int64_t limit) {
  if (!IsSealedName(path)) return ReadFile(path, limit);
  PLINTH_ASSIGN_OR_RETURN(const SealedFile file, SealedFile::Open(path, CredentialInUse()));
  if (file.plain_bytes() > limit) {
    return absl::InvalidArgumentError(
        StrCat(path, ": holds ", file.plain_bytes(), " bytes; at most ", limit, " are allowed"));
  }
  std::string text;
  text.reserve(static_cast<size_t>(file.plain_bytes()));
  PLINTH_RETURN_IF_ERROR(ForEachChunk(file, [&](std::span<const std::byte> chunk) {
    text.append(reinterpret_cast<const char*>(chunk.data()), chunk.size());
    return absl::OkStatus();
  }));
  return text;
}

StatusOr<std::string> Sha256OfModelFile(const std::string& path) {
  if (!IsSealedName(path)) return Sha256OfFile(path);
  PLINTH_ASSIGN_OR_RETURN(const SealedFile file, SealedFile::Open(path, CredentialInUse()));
  Sha256 sha;
  PLINTH_RETURN_IF_ERROR(ForEachChunk(file, [&](std::span<const std::byte> chunk) {
    sha.Update(chunk);
    return absl::OkStatus();
  }));
  return sha.Hex();
}

StatusOr<std::string> FindModelFile(const std::string& folder, std::string_view name) {
  const std::string plain = JoinPath(folder, name), sealed = StrCat(plain, kSealedSuffix);
  const bool has_plain = FileExists(plain), has_sealed = FileExists(sealed);
  if (has_plain && has_sealed) {
    return absl::InvalidArgumentError(StrCat(folder, ": holds both ", name, " and ", name, kSealedSuffix,
                                             "; which one is meant? Keep one of them"));
  }
  return has_plain ? plain : has_sealed ? sealed : std::string();
}

}  // namespace plinth::formats
