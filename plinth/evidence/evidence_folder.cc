#include "plinth/evidence/evidence_folder.h"

#include <algorithm>
#include <array>
#include <map>

#include "plinth/base/digest.h"
#include "plinth/evidence/dsse.h"
#include "plinth/evidence/environment.h"
#include "plinth/evidence/folder_files.h"
#include "plinth/evidence/standing.h"
#include "plinth/evidence/statement.h"
#include "plinth/evidence/unit_names.h"
#include "plinth/formats/json.h"

namespace plinth::evidence {
namespace {

constexpr int64_t kMaxEnvironmentBytes = 64 << 20;

// Checks one folder, step by step; the first refusal ends it.
class Opening {
 public:
  Opening(const FolderFiles& files, const std::string& folder, const TrustedKeys& keys,
          const OpenOptions& options)
      : files_(files), folder_(folder), keys_(keys), options_(options) {}

  StatusOr<Evidence> Run() {
    PLINTH_ASSIGN_OR_RETURN(payload_, Verified(kStatementFile));
    const auto parsed = ParseStatement(payload_, PathOf(kStatementFile));
    if (!parsed.ok()) return Refuse(Fault::kBrokenStatement, std::string(parsed.status().message()));
    statement_ = *parsed;
    PLINTH_RETURN_IF_ERROR(CheckIdentity());
    if (!options_.statement_only) {
      PLINTH_RETURN_IF_ERROR(CheckListing());
      for (const CoveredFile& file : statement_.files) PLINTH_RETURN_IF_ERROR(CheckFile(file));
      PLINTH_RETURN_IF_ERROR(CheckSecondEnvelope());
    }
    if (options_.check_place) PLINTH_RETURN_IF_ERROR(CheckPlace());
    return Result();
  }
  Fault fault() const { return fault_; }

 private:
  std::string PathOf(std::string_view name) const { return files_.PathOf(name); }

  Status Refuse(Fault fault, std::string sentence) {
    fault_ = fault;
    return fault == Fault::kMissing ? absl::NotFoundError(sentence) : absl::DataLossError(sentence);
  }

  // The payload of an envelope, exactly the bytes that were verified.
  StatusOr<std::string> Verified(std::string_view name) {
    const auto text = files_.ReadAll(std::string(name), kMaxEnvelopeBytes);
    if (absl::IsNotFound(text.status())) {
      return name == kStatementFile
                 ? Refuse(Fault::kMissing,
                          StrCat(folder_, ": holds no ", name, "; a folder of evidence is expected"))
                 : Refuse(Fault::kMissingFile, StrCat(PathOf(name), ": is missing; evidence needs it"));
    }
    if (absl::IsInvalidArgument(text.status())) {
      return Refuse(Fault::kOddFile, std::string(text.status().message()));
    }
    PLINTH_RETURN_IF_ERROR(text.status());
    return VerifiedText(name, *text);
  }
  StatusOr<std::string> VerifiedText(std::string_view name, const std::string& text) {
    auto envelope = ParseEnvelope(text, PathOf(name));
    if (!envelope.ok()) return Refuse(Fault::kBrokenEnvelope, std::string(envelope.status().message()));
    const EnvelopeVerdict verdict = VerifyEnvelope(*envelope, keys_);
    if (verdict.fault != EnvelopeFault::kNone) {
      return Refuse(verdict.fault == EnvelopeFault::kUntrustedKey   ? Fault::kUntrustedKey
                    : verdict.fault == EnvelopeFault::kBadSignature ? Fault::kBadSignature
                                                                    : Fault::kBrokenEnvelope,
                    StrCat(PathOf(name), ": ", verdict.sentence));
    }
    if (envelope->payload_type != kInTotoPayloadType) {
      return Refuse(Fault::kBrokenStatement, StrCat(PathOf(name), ": the payload's type is ",
                                                    formats::QuotedShort(envelope->payload_type), "; ",
                                                    kInTotoPayloadType, " is expected"));
    }
    if (name == kStatementFile) signers_ = verdict.signers;
    return std::move(envelope->payload);
  }

  Status CheckIdentity() {
    if (options_.identity.empty() || options_.identity == statement_.identity) return absl::OkStatus();
    return Refuse(Fault::kOtherIdentity,
                  StrCat(folder_, ": is evidence for the identity ", statement_.identity,
                         "; it proves nothing for ", options_.identity));
  }

  Status CheckListing() {
    PLINTH_ASSIGN_OR_RETURN(const FolderFiles::Listing listing, files_.List());
    if (!listing.odd.empty()) return Refuse(Fault::kOddFile, StrCat(listing.odd, "; the folder is refused"));
    std::map<std::string, int64_t> there;
    for (const auto& file : listing.files) there[file.name] = file.bytes;
    for (const CoveredFile& file : statement_.files) {
      const auto at = there.find(file.digest.name);
      if (at == there.end()) {
        return Refuse(Fault::kMissingFile,
                      StrCat(PathOf(file.digest.name), ": is missing; the statement names it"));
      }
      if (at->second != file.bytes) {
        return Refuse(Fault::kAltered, StrCat(PathOf(file.digest.name), ": was altered: it holds ",
                                              at->second, " bytes; the statement says ", file.bytes));
      }
      there.erase(at);
    }
    there.erase(std::string(kStatementFile));
    if (there.empty()) return absl::OkStatus();
    return Refuse(
        Fault::kUnlistedFile,
        StrCat(PathOf(there.begin()->first), ": is not named by the statement; evidence holds nothing else"));
  }

  // Hashes a file and keeps or counts what is looked at further, in one reading.
  Status CheckFile(const CoveredFile& file) {
    const std::string& name = file.digest.name;
    const bool keep = name == kTestResultFile || name == kEnvironmentFile;
    const int64_t limit = name == kTestResultFile ? kMaxEnvelopeBytes : kMaxEnvironmentBytes;
    if (keep && file.bytes > limit) {
      return Refuse(Fault::kOddFile,
                    StrCat(PathOf(name), ": holds ", file.bytes, " bytes; at most ", limit, " are allowed"));
    }
    Sha256 sha256;
    Sm3 sm3;
    RecordCounter counter(PathOf(name));
    Status counting;
    int64_t bytes = 0;
    std::string text;
    const Status read = files_.Read(name, [&](std::string_view piece) -> Status {
      sha256.Update(piece);
      sm3.Update(piece);
      bytes += static_cast<int64_t>(piece.size());
      if (keep && bytes <= limit) text += piece;
      if (name == kRecordsFile && counting.ok()) counting = counter.Add(piece);
      return absl::OkStatus();
    });
    if (absl::IsNotFound(read)) {
      return Refuse(Fault::kMissingFile, StrCat(PathOf(name), ": is missing; the statement names it"));
    }
    PLINTH_RETURN_IF_ERROR(read);
    PLINTH_ASSIGN_OR_RETURN(const std::string sha256_hex, sha256.Hex());
    PLINTH_ASSIGN_OR_RETURN(const std::string sm3_hex, sm3.Hex());
    if (sha256_hex != file.digest.sha256) {
      return Refuse(Fault::kAltered, StrCat(PathOf(name), ": was altered: its sha256 is ", sha256_hex,
                                            "; the statement says ", file.digest.sha256));
    }
    if (sm3_hex != file.digest.sm3) {
      return Refuse(Fault::kAltered, StrCat(PathOf(name), ": was altered: its sm3 is ", sm3_hex,
                                            "; the statement says ", file.digest.sm3));
    }
    if (name == kTestResultFile) test_result_ = std::move(text);
    if (name == kEnvironmentFile) statement_.unit.environment_json = std::move(text);
    return name == kRecordsFile ? CheckRecords(counting, counter) : absl::OkStatus();
  }

  Status CheckRecords(const Status& counting, RecordCounter& counter) {
    if (!counting.ok()) return Refuse(Fault::kRecords, std::string(counting.message()));
    const auto counts = counter.Finish();
    if (!counts.ok()) return Refuse(Fault::kRecords, std::string(counts.status().message()));
    for (size_t i = 0; i < kRecordStatuses.size(); ++i) {
      if (counts->by_status[i] == statement_.records.by_status[i]) continue;
      return Refuse(Fault::kRecords,
                    StrCat(PathOf(kRecordsFile), ": holds ", counts->by_status[i], " records that are ",
                           kRecordStatuses[i], "; the statement says ", statement_.records.by_status[i]));
    }
    return absl::OkStatus();
  }

  Status CheckSecondEnvelope() {
    PLINTH_ASSIGN_OR_RETURN(const std::string payload, VerifiedText(kTestResultFile, test_result_));
    const Status status = CheckTestResult(payload, statement_, PathOf(kTestResultFile));
    return status.ok() ? status : Refuse(Fault::kTestResult, std::string(status.message()));
  }

  Status CheckPlace() {
    const std::string name = BaseName(folder_);
    PLINTH_ASSIGN_OR_RETURN(const std::string time, CompactTime(statement_.unit.finished));
    const auto [named_time, named_identity] = SplitHistoryName(name);
    const bool newest = IsHexDigest(name);
    const std::string& wanted = newest ? name : named_identity;
    if (!wanted.empty() && wanted != statement_.identity) {
      return Refuse(Fault::kOtherIdentity, StrCat(folder_, ": is evidence for the identity ",
                                                  statement_.identity, ", in the place of ", wanted));
    }
    if (!named_time.empty() && named_time != time) {
      return Refuse(Fault::kOlderUnit, StrCat(folder_, ": holds the unit of ", statement_.unit.finished,
                                              ", in the place of the one of ", named_time));
    }
    return newest ? CheckHistory(time) : absl::OkStatus();
  }

  Status CheckHistory(const std::string& time) {
    std::string root = folder_;
    while (root.size() > 1 && root.ends_with('/')) root.pop_back();
    root = root.find('/') == root.npos ? std::string(".") : root.substr(0, root.rfind('/') + 1);
    PLINTH_ASSIGN_OR_RETURN(const std::string later, LaterUnit(root, statement_.identity, time));
    if (later.empty()) return CheckStanding(root);
    return Refuse(Fault::kOlderUnit,
                  StrCat(folder_, ": holds the unit of ", statement_.unit.finished, ", but ", later,
                         " is newer; an older unit proves nothing about now"));
  }

  // Failures that another key signed, or that the writer of this unit did not see.
  Status CheckStanding(const std::string& root) {
    if (options_.statement_only || !options_.check_standing) return absl::OkStatus();
    PLINTH_ASSIGN_OR_RETURN(statement_.unit.standing,
                            StandingFailures({&root, 1}, statement_.identity, &statement_.unit, keys_));
    statement_.verdict = VerdictOf(statement_.unit);
    return absl::OkStatus();
  }

  Evidence Result() {
    Evidence evidence;
    evidence.folder = folder_;
    evidence.identity = statement_.identity;
    evidence.verdict = statement_.verdict;
    evidence.records = statement_.records;
    evidence.files = std::move(statement_.files);
    evidence.unit = std::move(statement_.unit);
    evidence.statement_json = std::move(payload_);
    evidence.self_attested = true;
    for (const TrustedKeys::Entry* signer : signers_) {
      evidence.signers.push_back(signer->key.keyid());
      evidence.self_attested = evidence.self_attested && signer->local;
    }
    return evidence;
  }

  const FolderFiles& files_;
  const std::string& folder_;
  const TrustedKeys& keys_;
  const OpenOptions& options_;
  Statement statement_;
  std::vector<const TrustedKeys::Entry*> signers_;
  std::string payload_, test_result_;
  Fault fault_ = Fault::kNone;
};

}  // namespace

std::string_view FaultName(Fault fault) {
  constexpr std::array<std::string_view, 14> kNames = {
      "none",        "missing",      "broken-envelope", "untrusted-key", "bad-signature",  "broken-statement",
      "altered",     "missing-file", "unlisted-file",   "odd-file",      "other-identity", "older-unit",
      "test-result", "records"};
  return kNames[static_cast<size_t>(fault)];
}

StatusOr<Evidence> OpenEvidence(const std::string& folder, const TrustedKeys& keys,
                                const OpenOptions& options, Fault* fault) {
  Fault ignored;
  if (fault == nullptr) fault = &ignored;
  // While it is read, a writer may exchange the newest folder for another; then it is read anew.
  for (int round = 1;; ++round) {
    *fault = Fault::kNone;
    const auto files = FolderFiles::Open(folder);
    if (absl::IsNotFound(files.status())) {
      *fault = Fault::kMissing;
      return absl::NotFoundError(
          StrCat(folder, ": there is no such folder; a folder of evidence is expected"));
    }
    if (absl::IsInvalidArgument(files.status())) {
      *fault = Fault::kOddFile;
      return absl::DataLossError(std::string(files.status().message()));
    }
    PLINTH_RETURN_IF_ERROR(files.status());
    Opening opening(*files, folder, keys, options);
    StatusOr<Evidence> evidence = opening.Run();
    if (evidence.ok() || round == 5 || files->StillAt(folder)) {
      *fault = opening.fault();
      return evidence;
    }
  }
}

StatusOr<UnitFolders> ListUnits(const std::string& root) {
  UnitFolders units;
  PLINTH_ASSIGN_OR_RETURN(const std::vector<std::string> names, ListFolder(root));
  for (const std::string& name : names) {
    if (IsHexDigest(name)) units.newest.push_back(JoinPath(root, name));
  }
  const std::string history = JoinPath(root, "history");
  const auto old = ListFolder(history);
  if (absl::IsNotFound(old.status())) return units;
  PLINTH_RETURN_IF_ERROR(old.status());
  for (const std::string& name : *old) {
    if (!SplitHistoryName(name).first.empty()) units.history.push_back(JoinPath(history, name));
  }
  std::sort(units.history.begin(), units.history.end(), [](const std::string& a, const std::string& b) {
    const auto x = SplitHistoryName(BaseName(a)), y = SplitHistoryName(BaseName(b));
    if (x.first == y.first) return x.second < y.second;
    return IsLater(y.first, x.first);
  });
  return units;
}

}  // namespace plinth::evidence
