// Writes a unit of evidence as a folder, signed, and checks such folders again, offline.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plinth/base/status.h"
#include "plinth/evidence/keys.h"
#include "plinth/evidence/unit.h"

namespace plinth::evidence {

inline constexpr std::string_view kStatementFile = "statement.dsse.json";
inline constexpr std::string_view kTestResultFile = "test-result.dsse.json";
inline constexpr std::string_view kRecordsFile = "records.jsonl";
// The type of the statement's predicate; docs/evidence.md describes it.
inline constexpr std::string_view kPredicateType = "urn:plinth:acceptance:v1";
inline constexpr std::string_view kTestResultType = "https://in-toto.io/attestation/test-result/v0.1";

// A file that goes into the folder: `text`, or a copy of the file at `source` where that is set.
struct EvidenceFile {
  // "report.html", "captures/candidate/capture.json": parts of letters, digits, '.', '_' and '-', none
  // beginning with '.', at most 8 deep.
  std::string name;
  std::string text;
  std::string source;
};

struct WrittenEvidence {
  std::string newest;    // <root>/<identity>
  std::string history;   // <root>/history/<time>-<identity>
  std::string identity;  // 64 hex digits
  std::string later;     // the folder of a later unit, which stays the newest; empty: this one is
  Verdict verdict = Verdict::kFail;
  std::vector<StandingFailure> standing;  // earlier failures that this unit does not lift
};

// Makes the files once `standing` and with it the verdict are known.
using FilesOfUnit = std::function<StatusOr<std::vector<EvidenceFile>>(const Unit& unit)>;

// Writes `files` (records.jsonl among them), environment.json, test-result.dsse.json and, last, the statement
// that names them all, twice: into <root>/history/<finished>-<identity> and <root>/<identity>. Both are
// prepared under names that begin with a dot and flushed; then the newest one is exchanged in one step, and
// the other takes its place in the history. A crash at any instant leaves the old newest folder or the new
// one, whole; the next call tidies up and completes the history. Calls that meet wait for each other. A unit
// older than one of the history goes to the history alone. Errors: InvalidArgument for a unit that
// contradicts itself (bad digests, times, names, a yes or warned beside failed records); AlreadyExists where
// the history has a unit of that time; FileError.
//
// Earlier failures of the identity that the unit does not lift are written into it, as far as the same key
// signed them: whatever becomes of the history, the newest unit tells of them, and fails (see standing.h).
// `also`: further roots to look for such failures in.
StatusOr<WrittenEvidence> WriteEvidence(const std::string& root, const Unit& unit, const FilesOfUnit& files,
                                        const SigningKey& key, std::span<const std::string> also = {});
StatusOr<WrittenEvidence> WriteEvidence(const std::string& root, const Unit& unit,
                                        std::span<const EvidenceFile> files, const SigningKey& key);

// Why a folder was refused; each has a sentence of its own.
enum class Fault : uint8_t {
  kNone,
  kMissing,          // there is no evidence
  kBrokenEnvelope,   // an envelope that is none
  kUntrustedKey,     // signed, but by no trusted key
  kBadSignature,     // a trusted key's signature that does not fit
  kBrokenStatement,  // signed, but not a statement of ours, or one that contradicts itself
  kAltered,          // a file with another digest
  kMissingFile,      // a file that the statement names and the folder lacks
  kUnlistedFile,     // a file that the statement does not name
  kOddFile,          // a link, pipe or device, or an odd name, or more than allowed
  kOtherIdentity,    // evidence for something else
  kOlderUnit,        // the history has a newer one
  kTestResult,       // test-result.dsse.json says something else
  kRecords,          // records.jsonl says something else
};
// "altered", "unlisted-file", ...; "none".
std::string_view FaultName(Fault fault);

// A file that the statement names.
struct CoveredFile {
  NamedDigest digest;
  int64_t bytes = 0;
};

struct Evidence {
  std::string folder;    // as it was opened
  std::string identity;  // 64 hex digits
  Unit unit;
  Verdict verdict = Verdict::kFail;
  RecordCounts records;
  std::vector<CoveredFile> files;
  std::vector<std::string> signers;  // keyids of trusted keys
  bool self_attested = false;        // the local key alone stands behind it
  std::string statement_json;        // the signed payload, byte by byte
};

struct OpenOptions {
  // 64 hex digits; evidence for another one is refused. Empty: any.
  std::string identity;
  // Where the folder's name or place says what it must be (<identity>, history/<time>-<identity>), hold it to
  // that, and hold a newest folder against the history beside it.
  bool check_place = true;
  // Alone the statement and its signature; not the other files.
  bool statement_only = false;
  // For a newest folder, opened whole: failures of the history beside it that stand become the unit's,
  // whoever of the trusted signed them.
  bool check_standing = true;
};

// Opens one unit's folder and checks everything in it; nothing is taken from bytes that were not verified.
// Links in the folder are not followed. Errors: DataLoss (NotFound for kMissing) with the sentence, `fault`
// set; else FileError and `fault` kNone.
StatusOr<Evidence> OpenEvidence(const std::string& folder, const TrustedKeys& keys,
                                const OpenOptions& options = {}, Fault* fault = nullptr);

// The folders of units below an evidence root: the newest of each identity, then the history by time. Only
// names are looked at. Errors: FileError.
struct UnitFolders {
  std::vector<std::string> newest;   // <root>/<identity>
  std::vector<std::string> history;  // <root>/history/<time>-<identity>, oldest first
};
StatusOr<UnitFolders> ListUnits(const std::string& root);

}  // namespace plinth::evidence
