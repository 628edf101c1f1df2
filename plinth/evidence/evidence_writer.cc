#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <set>

#include "plinth/base/digest.h"
#include "plinth/base/faults.h"
#include "plinth/base/files.h"
#include "plinth/base/interrupt.h"
#include "plinth/evidence/dsse.h"
#include "plinth/evidence/environment.h"
#include "plinth/evidence/evidence_folder.h"
#include "plinth/evidence/folder_files.h"
#include "plinth/evidence/standing.h"
#include "plinth/evidence/statement.h"
#include "plinth/evidence/unit_names.h"
#include "plinth/formats/json.h"

namespace plinth::evidence {
namespace {

constexpr size_t kPieceBytes = 1 << 20;

// What a file system without flush says; that is no error of ours.
bool CannotFsync(int error) { return error == EINVAL || error == ENOTSUP || error == EROFS; }

Status FlushHandle(int fd, const std::string& path) {
  if (!FaultDue(Syscall::kFsync) && fsync(fd) == 0) return absl::OkStatus();
  return CannotFsync(errno) ? absl::OkStatus() : FileError(path, "flushed to the disk", errno);
}

Status FlushFolder(const std::string& path) {
  const Handle handle(FaultDue(Syscall::kOpen) ? -1 : open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (handle.get() < 0) return FileError(path, "opened", errno);
  return FlushHandle(handle.get(), path);
}

Status Rename(const std::string& from, const std::string& to) {
  if (!FaultDue(Syscall::kRename) && rename(from.c_str(), to.c_str()) == 0) return absl::OkStatus();
  return FileError(to, "replaced", errno);
}

// Removes a prepared or replaced folder of ours; what stays is tidied up by the next call.
void RemoveTree(const std::string& path) {
  std::error_code error;
  std::filesystem::remove_all(path, error);
}

bool Exists(const std::string& path) {
  struct stat info;
  return lstat(path.c_str(), &info) == 0;
}

// Puts `fresh` in the place of `place`, which then is at `fresh` where there was one. Where the file system
// cannot exchange, there is an instant without either; Recover mends what a crash leaves then.
Status Exchange(const std::string& fresh, const std::string& place) {
  if (FaultDue(Syscall::kRename)) return FileError(place, "replaced", errno);
  if (!Exists(place)) {
    return rename(fresh.c_str(), place.c_str()) == 0 ? absl::OkStatus() : FileError(place, "replaced", errno);
  }
  if (renameat2(AT_FDCWD, fresh.c_str(), AT_FDCWD, place.c_str(), RENAME_EXCHANGE) == 0)
    return absl::OkStatus();
  if (errno != EINVAL && errno != ENOSYS && errno != ENOTSUP) return FileError(place, "replaced", errno);
  const std::string aside = fresh + ".old";
  PLINTH_RETURN_IF_ERROR(Rename(place, aside));
  const Status moved = Rename(fresh, place);
  if (!moved.ok()) {
    static_cast<void>(rename(aside.c_str(), place.c_str()) == 0);
    return moved;
  }
  return Rename(aside, fresh);
}

// Where everything goes.
struct Places {
  std::string root, history;      // <root>, <root>/history
  std::string newest, archived;   // the final places
  std::string fresh, to_archive;  // where they are prepared
};

Places PlacesOf(const std::string& root, const std::string& identity, const std::string& time) {
  Places p;
  p.root = root;
  p.history = JoinPath(root, "history");
  p.newest = JoinPath(root, identity);
  p.fresh = JoinPath(root, StrCat(".", identity, ".new"));
  p.archived = JoinPath(p.history, StrCat(time, "-", identity));
  p.to_archive = JoinPath(p.history, StrCat(".", time, "-", identity, ".new"));
  return p;
}

// Whether both folders hold the same statement, byte for byte, and with it the same unit.
bool SameUnit(const std::string& a, const std::string& b) {
  const auto x = ReadFile(JoinPath(a, kStatementFile), kMaxEnvelopeBytes);
  const auto y = ReadFile(JoinPath(b, kStatementFile), kMaxEnvelopeBytes);
  return x.ok() && y.ok() && *x == *y;
}

// Mends what a crash left: a unit that is the newest already takes its place in the history; what was only
// prepared goes. The caller holds the lock.
Status Recover(const Places& p) {
  const std::string aside = p.fresh + ".old";
  if (Exists(aside) && !Exists(p.newest)) PLINTH_RETURN_IF_ERROR(Rename(aside, p.newest));
  RemoveTree(aside);
  RemoveTree(p.fresh);
  PLINTH_ASSIGN_OR_RETURN(const std::vector<std::string> names, ListFolder(p.history));
  for (const std::string& name : names) {
    if (!name.starts_with('.') || !name.ends_with(".new") || name.size() < 71) continue;
    const std::string prepared = JoinPath(p.history, name), final_name = name.substr(1, name.size() - 5);
    const std::string identity = final_name.substr(final_name.size() - 64);
    const std::string archived = JoinPath(p.history, final_name);
    if (IsHexDigest(identity) && !Exists(archived) && SameUnit(prepared, JoinPath(p.root, identity))) {
      PLINTH_RETURN_IF_ERROR(Rename(prepared, archived));
    } else {
      RemoveTree(prepared);
    }
  }
  return absl::OkStatus();
}

// Writes one file into both prepared folders and hashes what it writes.
class TwinFile {
 public:
  static StatusOr<TwinFile> Create(const Places& p, const std::string& name) {
    TwinFile file;
    for (size_t i = 0; i < 2; ++i) {
      file.paths_[i] = JoinPath(i == 0 ? p.to_archive : p.fresh, name);
      if (name.find('/') != name.npos) {
        PLINTH_RETURN_IF_ERROR(MakeFolders(file.paths_[i].substr(0, file.paths_[i].rfind('/'))));
      }
      file.handles_[i] =
          Handle(FaultDue(Syscall::kOpen)
                     ? -1
                     : open(file.paths_[i].c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
      if (file.handles_[i].get() < 0) return FileError(file.paths_[i], "written", errno);
    }
    file.covered_.digest.name = name;
    return file;
  }

  Status Write(std::string_view text) {
    sha256_.Update(text);
    sm3_.Update(text);
    covered_.bytes += static_cast<int64_t>(text.size());
    for (size_t i = 0; i < 2; ++i) PLINTH_RETURN_IF_ERROR(WriteAll(i, text));
    return CheckInterrupted();
  }

  StatusOr<CoveredFile> Finish() {
    for (size_t i = 0; i < 2; ++i) {
      PLINTH_RETURN_IF_ERROR(FlushHandle(handles_[i].get(), paths_[i]));
      if (handles_[i].Close() != 0) return FileError(paths_[i], "written", errno);
    }
    PLINTH_ASSIGN_OR_RETURN(covered_.digest.sha256, sha256_.Hex());
    PLINTH_ASSIGN_OR_RETURN(covered_.digest.sm3, sm3_.Hex());
    return covered_;
  }

 private:
  Status WriteAll(size_t i, std::string_view text) {
    while (!text.empty()) {
      const ssize_t n = FaultDue(Syscall::kWrite) ? -1 : write(handles_[i].get(), text.data(), text.size());
      if (n < 0 && errno == EINTR && !Interrupted()) continue;
      if (n < 0) return FileError(paths_[i], "written", errno);
      text.remove_prefix(static_cast<size_t>(n));
    }
    return absl::OkStatus();
  }

  std::array<std::string, 2> paths_;
  std::array<Handle, 2> handles_;
  Sha256 sha256_;
  Sm3 sm3_;
  CoveredFile covered_;
};

// Prepares both folders; what it leaves when it fails, the caller removes.
class Preparation {
 public:
  Preparation(const Places& places, const Unit& unit, const SigningKey& key) : places_(places), key_(key) {
    statement_.unit = unit;
  }

  Status Run(const std::string& identity, std::span<const EvidenceFile> files) {
    for (const std::string& folder : {places_.to_archive, places_.fresh}) {
      if (mkdir(folder.c_str(), 0777) != 0) return FileError(folder, "made a folder", errno);
    }
    statement_.identity = identity;
    statement_.verdict = VerdictOf(statement_.unit);
    RecordCounter counter("records.jsonl");
    for (const EvidenceFile& file : files) {
      PLINTH_RETURN_IF_ERROR(file.source.empty() ? AddText(file.name, file.text, &counter)
                                                 : AddCopy(file.name, file.source, &counter));
    }
    PLINTH_ASSIGN_OR_RETURN(statement_.records, counter.Finish());
    PLINTH_RETURN_IF_ERROR(AddText(std::string(kEnvironmentFile), statement_.unit.environment_json, nullptr));
    statement_.environment_sha256 = statement_.files.back().digest.sha256;
    // Refuses a unit that contradicts itself before anything is signed.
    PLINTH_RETURN_IF_ERROR(StatementPayload(statement_).status());
    PLINTH_RETURN_IF_ERROR(AddSigned(kTestResultFile, TestResultPayload(statement_)));
    std::sort(statement_.files.begin(), statement_.files.end(),
              [](const CoveredFile& a, const CoveredFile& b) { return a.digest.name < b.digest.name; });
    PLINTH_ASSIGN_OR_RETURN(const std::string payload, StatementPayload(statement_));
    PLINTH_RETURN_IF_ERROR(AddSigned(kStatementFile, payload));
    return FlushFolders();
  }

 private:
  Status AddSigned(std::string_view name, std::string payload) {
    PLINTH_ASSIGN_OR_RETURN(const DsseEnvelope envelope,
                            SignEnvelope(kInTotoPayloadType, std::move(payload), key_));
    return AddText(std::string(name), ToJson(envelope), nullptr);
  }

  Status AddText(const std::string& name, std::string_view text, RecordCounter* counter) {
    PLINTH_ASSIGN_OR_RETURN(TwinFile file, TwinFile::Create(places_, name));
    if (name == kRecordsFile) PLINTH_RETURN_IF_ERROR(counter->Add(text));
    PLINTH_RETURN_IF_ERROR(file.Write(text));
    return Keep(file);
  }

  Status AddCopy(const std::string& name, const std::string& source, RecordCounter* counter) {
    PLINTH_ASSIGN_OR_RETURN(InputFile input, InputFile::Open(source));
    PLINTH_ASSIGN_OR_RETURN(TwinFile file, TwinFile::Create(places_, name));
    std::string piece(kPieceBytes, '\0');
    while (true) {
      PLINTH_ASSIGN_OR_RETURN(const size_t got, input.Read(piece.data(), piece.size()));
      const std::string_view text = std::string_view(piece).substr(0, got);
      if (name == kRecordsFile) PLINTH_RETURN_IF_ERROR(counter->Add(text));
      PLINTH_RETURN_IF_ERROR(file.Write(text));
      if (got < piece.size()) return Keep(file);
    }
  }

  Status Keep(TwinFile& file) {
    PLINTH_ASSIGN_OR_RETURN(CoveredFile covered, file.Finish());
    const std::string& name = covered.digest.name;
    for (size_t slash = name.find('/'); slash != name.npos; slash = name.find('/', slash + 1)) {
      folders_.insert(name.substr(0, slash));
    }
    if (name != kStatementFile) statement_.files.push_back(std::move(covered));
    return absl::OkStatus();
  }

  Status FlushFolders() const {
    for (const std::string& place : {places_.to_archive, places_.fresh}) {
      for (const std::string& folder : folders_) PLINTH_RETURN_IF_ERROR(FlushFolder(JoinPath(place, folder)));
      PLINTH_RETURN_IF_ERROR(FlushFolder(place));
    }
    return absl::OkStatus();
  }

  const Places& places_;
  const SigningKey& key_;
  Statement statement_;
  std::set<std::string> folders_;  // below the unit's folder
};

Status CheckFiles(std::span<const EvidenceFile> files) {
  if (files.size() + 3 > kMaxEvidenceFiles) {
    return absl::InvalidArgumentError(StrCat("the unit of evidence: ", files.size(), " files; at most ",
                                             kMaxEvidenceFiles - 3, " are allowed"));
  }
  std::set<std::string> names = {std::string(kStatementFile), std::string(kTestResultFile),
                                 std::string(kEnvironmentFile)};
  bool records = false;
  for (const EvidenceFile& file : files) {
    records = records || file.name == kRecordsFile;
    if (!IsGoodFileName(file.name) || !names.insert(file.name).second) {
      return absl::InvalidArgumentError(StrCat("the unit of evidence: the file name ",
                                               formats::QuotedShort(file.name),
                                               " is taken or cannot be used"));
    }
  }
  if (!records) return absl::InvalidArgumentError(StrCat("the unit of evidence: holds no ", kRecordsFile));
  return absl::OkStatus();
}

// Moves what is prepared to its places, the newest first: a folder that is older than the history's would be
// refused.
// `newest`: whether it is; else it only goes to the history.
Status Publish(const Places& p, bool newest) {
  if (!newest) {
    PLINTH_RETURN_IF_ERROR(Rename(p.to_archive, p.archived));
    return FlushFolder(p.history);
  }
  const bool replaced = Exists(p.newest);
  PLINTH_RETURN_IF_ERROR(Exchange(p.fresh, p.newest));
  Status archived = Rename(p.to_archive, p.archived);
  if (!archived.ok()) {
    // Back to the old one, so that the call has no effect.
    static_cast<void>(replaced ? Exchange(p.fresh, p.newest).ok()
                               : rename(p.newest.c_str(), p.fresh.c_str()) == 0);
    return archived;
  }
  PLINTH_RETURN_IF_ERROR(FlushFolder(p.history));
  return FlushFolder(p.root);
}

}  // namespace

StatusOr<WrittenEvidence> WriteEvidence(const std::string& root, const Unit& unit,
                                        std::span<const EvidenceFile> files, const SigningKey& key) {
  return WriteEvidence(
      root, unit, [&](const Unit&) { return std::vector<EvidenceFile>(files.begin(), files.end()); }, key);
}

StatusOr<WrittenEvidence> WriteEvidence(const std::string& root, const Unit& given, const FilesOfUnit& make,
                                        const SigningKey& key, std::span<const std::string> also) {
  Unit unit = given;
  PLINTH_ASSIGN_OR_RETURN(const std::string identity, unit.identity.Digest());
  PLINTH_ASSIGN_OR_RETURN(const std::string time, CompactTime(unit.finished));
  PLINTH_ASSIGN_OR_RETURN(const formats::JsonValue environment,
                          formats::ParseJson(unit.environment_json, "the unit's environment"));
  if (environment.object() == nullptr) {
    return absl::InvalidArgumentError("the unit's environment: a JSON object is expected");
  }
  const Places places = PlacesOf(root, identity, time);
  PLINTH_RETURN_IF_ERROR(MakeFolders(places.history));
  const Handle lock(
      FaultDue(Syscall::kOpen) ? -1 : open(places.history.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (lock.get() < 0) return FileError(places.history, "opened", errno);
  // Where a file system has no locks, calls that meet are refused by the folders they both make.
  while (flock(lock.get(), LOCK_EX) != 0 && errno == EINTR) PLINTH_RETURN_IF_ERROR(CheckInterrupted());
  PLINTH_RETURN_IF_ERROR(Recover(places));
  if (Exists(places.archived)) {
    return absl::AlreadyExistsError(
        StrCat(places.archived, ": is there already; a unit of another time is expected"));
  }
  PLINTH_ASSIGN_OR_RETURN(const std::string later, LaterUnit(root, identity, time));
  TrustedKeys own;
  own.Add(key.public_key(), /*local=*/true);
  std::vector<std::string> roots = {root};
  for (const std::string& other : also) {
    if (!SameFile(other, root)) roots.push_back(other);
  }
  PLINTH_ASSIGN_OR_RETURN(unit.standing, StandingFailures(roots, identity, &unit, own));
  PLINTH_ASSIGN_OR_RETURN(const std::vector<EvidenceFile> files, make(unit));
  PLINTH_RETURN_IF_ERROR(CheckFiles(files));
  Status status = Preparation(places, unit, key).Run(identity, files);
  if (status.ok()) status = Publish(places, later.empty());
  RemoveTree(places.fresh);  // the old newest one, or what failed
  RemoveTree(places.to_archive);
  PLINTH_RETURN_IF_ERROR(status);
  return WrittenEvidence{places.newest, places.archived, identity, later, VerdictOf(unit), unit.standing};
}

}  // namespace plinth::evidence
