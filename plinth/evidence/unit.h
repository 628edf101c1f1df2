// Describes one experiment unit: what an acceptance ran, on what, and what came out.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plinth/base/check_status.h"
#include "plinth/base/status.h"
#include "plinth/plan/identity.h"

namespace plinth::evidence {

using plan::NumericsIdentity;

// The largest sizes whose corners were run; requests beyond them are not covered.
struct Envelope {
  int64_t batch = 0, context = 0, horizon = 0;
};

// The seven questions of an acceptance, in their order.
inline constexpr std::array<std::string_view, 7> kChecklistIds = {
    "environment", "inputs", "operators", "layers", "task", "performance", "repeatability"};

enum class Answer : uint8_t { kYes, kWarned, kNo, kUnproven };
std::string_view AnswerName(Answer answer);  // "yes", "warned", "no", "unproven"
std::optional<Answer> AnswerOf(std::string_view name);

enum class Verdict : uint8_t { kPass, kWarn, kFail };
std::string_view VerdictName(Verdict verdict);  // "pass", "warn", "fail"

struct ChecklistItem {
  std::string id;        // of kChecklistIds
  std::string question;  // for people
  std::string text;      // the answer for people
  Answer answer = Answer::kUnproven;
};

// One part of the acceptance ("environment", "self-test", "operators", "layers", "task", "performance").
struct LayerResult {
  std::string name;
  Answer answer = Answer::kUnproven;
  std::string text;
};

// A file or a set of data, by digest.
struct NamedDigest {
  std::string name;
  std::string sha256;  // 64 hex digits
  std::string sm3;     // the same; may be empty
};

// A deviation that somebody answers for; it never makes a pass.
struct Waiver {
  std::string subject, owner, reason;
  std::string expires;  // a date, "2027-01-31"
};

struct Tool {
  std::string name = "plinth", version, commit;  // commit may be empty: unknown
  std::string binary_sha256;                     // of the program; may be empty
};

// One part of what an acceptance asked: another acceptance asks at least as much where its part of the same
// id has the same text, or a number that is not smaller, or not larger.
struct AskedItem {
  enum class Covers : uint8_t { kSame, kAtLeast, kAtMost };
  std::string id;  // "layers.golden_cases", "run.repeats"; once in a unit
  Covers covers = Covers::kSame;
  std::string text;   // of kSame
  double number = 0;  // of the others
  bool operator==(const AskedItem&) const = default;
};
std::string_view CoversName(AskedItem::Covers covers);  // "same", "at-least", "at-most"
std::optional<AskedItem::Covers> CoversOf(std::string_view name);

// An earlier failure of the same identity that nothing has lifted since (see standing.h).
struct StandingFailure {
  std::string finished;                // of the unit that failed
  std::vector<std::string> questions;  // ids of those it answered with no
  std::string text;                    // "layers: ...": the first of them with its answer
  std::string reproduce;               // the command that asks the same again
  std::vector<AskedItem> asked;
};

struct Unit {
  std::string model_name;
  std::vector<NamedDigest> model_files;  // those that the model's digest covers; may be empty
  // Part "model" is the model's digest, 64 hex digits.
  NumericsIdentity identity;
  Envelope envelope;
  std::string run;                // 32 hex digits, random, of this acceptance; may be empty
  std::string started, finished;  // RFC 3339, UTC: "2026-11-30T18:30:00Z", fractions of a second allowed
  std::array<ChecklistItem, 7> checklist;
  std::vector<LayerResult> layers;
  std::vector<AskedItem> asked;           // at least one
  std::vector<StandingFailure> standing;  // WriteEvidence fills it
  std::vector<NamedDigest> inputs, preprocessing, reference;
  std::string rules_sha256;  // of the rule set, 64 hex digits
  Tool tool;
  std::string environment_json;  // one JSON object; becomes environment.json
  std::string performance_json;  // one JSON object; empty: not measured
  int64_t repeats = 0;
  std::vector<int64_t> seeds;
  std::vector<Waiver> waivers;
  std::vector<std::string> limits;  // known limits, sentences
  std::string reproduce;            // the command that does it again

  // The checklist with its ids and default questions, all unproven.
  static std::array<ChecklistItem, 7> EmptyChecklist();
  // Null where `id` is none of kChecklistIds.
  ChecklistItem* Item(std::string_view id);
  const ChecklistItem* Item(std::string_view id) const;
};

// The only question that may stay open: without an incumbent there is nothing to be as fast as.
inline constexpr std::string_view kOptionalItem = "performance";
// Fail where an answer is no; else warn where one is warned, or unproven but for kOptionalItem; else pass.
Verdict VerdictOf(const std::array<ChecklistItem, 7>& checklist);
// Fail also where an earlier failure stands.
Verdict VerdictOf(const Unit& unit);

// How the lines of records.jsonl are counted: status -> lines, in the order of kRecordStatuses.
inline constexpr auto& kRecordStatuses = kCheckStatusNames;
struct RecordCounts {
  int64_t total = 0;
  std::array<int64_t, 9> by_status{};
  bool operator==(const RecordCounts&) const = default;
  // Lines that stand for a failure: failed, unimplemented, missing.
  int64_t failures() const { return by_status[2] + by_status[3] + by_status[7]; }
};

// Counts the lines of a records.jsonl: each is one JSON object with a "status" of kRecordStatuses; an object
// with "summary": true is passed over. `where` begins every message. Errors: InvalidArgument naming the line.
class RecordCounter {
 public:
  explicit RecordCounter(std::string where) : where_(std::move(where)) {}
  Status Add(std::string_view piece);
  // Call it once, at the end.
  StatusOr<RecordCounts> Finish();

 private:
  Status Line(std::string_view line);
  std::string where_, rest_;
  int64_t line_ = 0;
  RecordCounts counts_;
};

// "2026-11-30T18:30:00.125Z" from nanoseconds since 1970.
std::string Rfc3339(int64_t wall);
// "20261130T183000.125Z": the same time as part of a file's name. Error: InvalidArgument for anything but RFC
// 3339 in UTC with a capital T and Z.
StatusOr<std::string> CompactTime(std::string_view rfc3339);

}  // namespace plinth::evidence
