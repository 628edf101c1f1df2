#include "plinth/formats/sealed_folder.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <set>

#include "plinth/base/files.h"
#include "plinth/base/interrupt.h"
#include "plinth/base/temporary_folder.h"
#include "plinth/base/text.h"
#include "plinth/formats/sealed_file.h"

namespace plinth::formats {
namespace {

constexpr int64_t kMostCopied = 1 << 30;
constexpr int kDeepest = 8;  // folders below evidence/

bool IsBeside(std::string_view name) {
  constexpr std::string_view kNames[] = {"plinth.toml", "CARD.md", "MODEL_CARD.md", "README.md"};
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames) ||
         name.starts_with("LICENSE") || name.starts_with("LICENCE") || name.starts_with("NOTICE");
}

// What makes up the model: config.json, and safetensors with their index.
bool IsModelPart(std::string_view plain_name) {
  return plain_name == "config.json" || plain_name.ends_with(".safetensors") ||
         plain_name == "model.safetensors.index.json";
}

Status CopyFile(const std::string& from, const std::string& to) {
  PLINTH_ASSIGN_OR_RETURN(const std::string text, ReadFile(from, kMostCopied));
  return WriteFile(to, text);
}

Status CopyTree(const std::string& from, const std::string& to, int depth) {
  if (depth > kDeepest) return absl::InvalidArgumentError(StrCat(from, ": folders lie too deep in it"));
  PLINTH_RETURN_IF_ERROR(MakeFolders(to));
  PLINTH_ASSIGN_OR_RETURN(const std::vector<std::string> names, ListFolder(from));
  for (const std::string& name : names) {
    PLINTH_RETURN_IF_ERROR(CheckInterrupted());
    const std::string source = JoinPath(from, name), target = JoinPath(to, name);
    PLINTH_RETURN_IF_ERROR(IsFolder(source) ? CopyTree(source, target, depth + 1) : CopyFile(source, target));
  }
  return absl::OkStatus();
}

Status CheckNames(const std::string& from, const std::vector<std::string>& names, bool encrypt) {
  const std::set<std::string> all(names.begin(), names.end());
  int64_t to_change = 0;
  for (const std::string& name : names) {
    if (!IsModelPart(PlainName(name)) || IsFolder(JoinPath(from, name))) continue;
    if (IsSealedName(name) && all.contains(PlainName(name))) {
      return absl::InvalidArgumentError(
          StrCat(from, ": holds both ", PlainName(name), " and ", name, "; keep one of them"));
    }
    if (IsSealedName(name) == encrypt) {
      return absl::InvalidArgumentError(
          StrCat(from, ": ", name, encrypt ? " is encrypted already" : " is not encrypted"));
    }
    ++to_change;
  }
  if (!all.contains(encrypt ? "config.json" : "config.json.enc") || to_change < 2) {
    return absl::NotFoundError(StrCat(from, ": is no ", encrypt ? "" : "encrypted ",
                                      "model folder; config.json", encrypt ? "" : ".enc",
                                      " and weights in safetensors are expected"));
  }
  return absl::OkStatus();
}

// Reads back what was written: a disk that lies is found now, while the original is still there.
Status CheckSealed(const std::string& original, const std::string& sealed, const CredentialPtr& credential) {
  PLINTH_ASSIGN_OR_RETURN(const MappedFile plain, MappedFile::Open(original));
  PLINTH_ASSIGN_OR_RETURN(const SealedFile file, SealedFile::Open(sealed, credential));
  PLINTH_ASSIGN_OR_RETURN(const SecretMemory memory, SecretMemory::Make(file.chunk_bytes()));
  bool same = file.plain_bytes() == plain.size();
  for (int64_t i = 0; same && i < file.chunks(); ++i) {
    PLINTH_RETURN_IF_ERROR(CheckInterrupted());
    const size_t begin = static_cast<size_t>(file.ChunkBegin(i));
    const auto chunk = memory.bytes().first(static_cast<size_t>(file.ChunkEnd(i)) - begin);
    PLINTH_RETURN_IF_ERROR(file.Read(i, chunk));
    same = std::equal(chunk.begin(), chunk.end(), plain.bytes().begin() + static_cast<int64_t>(begin));
  }
  if (same) return absl::OkStatus();
  return absl::DataLossError(StrCat(original, ": changed while it was encrypted"));
}

StatusOr<FolderReport> Convert(const std::string& from, const std::string& to,
                               const CredentialPtr& credential, bool encrypt) {
  if (!IsFolder(from)) {
    return absl::NotFoundError(StrCat(from, ": no such folder; a model folder is expected"));
  }
  PLINTH_ASSIGN_OR_RETURN(const std::vector<std::string> names, ListFolder(from));
  PLINTH_RETURN_IF_ERROR(CheckNames(from, names, encrypt));
  PLINTH_ASSIGN_OR_RETURN(TemporaryFolder folder, TemporaryFolder::MakeFor(to));
  if (!encrypt && chmod(folder.path().c_str(), 0700) != 0) return FileError(to, "made private", errno);
  FolderReport report;
  const auto one = [&](const std::string& name) -> Status {
    const std::string source = JoinPath(from, name);
    if (IsFolder(source)) {
      if (name != "evidence") return report.left_out.push_back(name + "/"), absl::OkStatus();
      report.copied.push_back(name + "/");
      return CopyTree(source, JoinPath(folder.path(), name), 0);
    }
    const std::string plain = PlainName(name);
    if (IsModelPart(plain)) {
      const std::string made = encrypt ? StrCat(name, kSealedSuffix) : plain;
      const std::string target = JoinPath(folder.path(), made);
      report.changed.push_back(made);
      if (!encrypt) PLINTH_RETURN_IF_ERROR(UnsealFile(source, target, credential));
      if (encrypt) {
        PLINTH_RETURN_IF_ERROR(SealFile(source, target, *credential));
        PLINTH_RETURN_IF_ERROR(CheckSealed(source, target, credential));
      }
      PLINTH_ASSIGN_OR_RETURN(const MappedFile size, MappedFile::Open(encrypt ? source : target));
      report.bytes += size.size();
      return absl::OkStatus();
    }
    if (!IsBeside(name)) return report.left_out.push_back(name), absl::OkStatus();
    report.copied.push_back(name);
    return CopyFile(source, JoinPath(folder.path(), name));
  };
  for (const std::string& name : names) {
    if (const Status status = one(name); !status.ok()) return folder.Named(status);
  }
  PLINTH_RETURN_IF_ERROR(folder.Move());
  return report;
}

}  // namespace

StatusOr<FolderReport> EncryptFolder(const std::string& from, const std::string& to,
                                     const CredentialPtr& credential) {
  return Convert(from, to, credential, true);
}

StatusOr<FolderReport> DecryptFolder(const std::string& from, const std::string& to,
                                     const CredentialPtr& credential) {
  return Convert(from, to, credential, false);
}

}  // namespace plinth::formats
