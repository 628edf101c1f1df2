#include "plinth/evidence/unit.h"

#include <algorithm>
#include <cstdio>
#include <ctime>

#include "plinth/formats/json.h"

namespace plinth::evidence {
namespace {

constexpr size_t kMaxLineBytes = 1 << 20;
constexpr std::array<std::string_view, 4> kAnswers = {"yes", "warned", "no", "unproven"};

constexpr std::array<std::string_view, 3> kCovers = {"same", "at-least", "at-most"};

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

bool InRange(std::string_view digits, int low, int high) {
  int value = 0;
  for (const char c : digits) value = value * 10 + (c - '0');
  return value >= low && value <= high;
}

}  // namespace

std::string_view AnswerName(Answer answer) { return kAnswers[static_cast<size_t>(answer)]; }

std::optional<Answer> AnswerOf(std::string_view name) {
  const auto at = std::find(kAnswers.begin(), kAnswers.end(), name);
  if (at == kAnswers.end()) return std::nullopt;
  return static_cast<Answer>(at - kAnswers.begin());
}

std::string_view CoversName(AskedItem::Covers covers) { return kCovers[static_cast<size_t>(covers)]; }

std::optional<AskedItem::Covers> CoversOf(std::string_view name) {
  const auto at = std::find(kCovers.begin(), kCovers.end(), name);
  if (at == kCovers.end()) return std::nullopt;
  return static_cast<AskedItem::Covers>(at - kCovers.begin());
}

std::string_view VerdictName(Verdict verdict) {
  constexpr std::array<std::string_view, 3> kNames = {"pass", "warn", "fail"};
  return kNames[static_cast<size_t>(verdict)];
}

Verdict VerdictOf(const std::array<ChecklistItem, 7>& checklist) {
  Verdict verdict = Verdict::kPass;
  for (const ChecklistItem& item : checklist) {
    if (item.answer == Answer::kNo) return Verdict::kFail;
    if (item.answer == Answer::kUnproven && item.id == kOptionalItem) continue;
    if (item.answer != Answer::kYes) verdict = Verdict::kWarn;
  }
  return verdict;
}

Verdict VerdictOf(const Unit& unit) {
  return unit.standing.empty() ? VerdictOf(unit.checklist) : Verdict::kFail;
}

std::array<ChecklistItem, 7> Unit::EmptyChecklist() {
  constexpr std::array<const char*, 7> kQuestions = {
      "Is it known what machine and software ran, without contradictions?",
      "Did both sides get the same inputs, prepared in the same way?",
      "Does every operator in use compute what it should?",
      "Does every layer stay as close to the reference as the rules demand?",
      "Do the task's own figures stay within the band declared beforehand?",
      "Is the speed measured, after correctness?",
      "Do repeated runs give the same, or stay within the noise band?",
  };
  std::array<ChecklistItem, 7> checklist;
  for (size_t i = 0; i < checklist.size(); ++i) {
    checklist[i].id = kChecklistIds[i];
    checklist[i].question = kQuestions[i];
  }
  return checklist;
}

const ChecklistItem* Unit::Item(std::string_view id) const {
  const auto at = std::find_if(checklist.begin(), checklist.end(),
                               [&](const ChecklistItem& item) { return item.id == id; });
  return at == checklist.end() ? nullptr : &*at;
}

ChecklistItem* Unit::Item(std::string_view id) {
  return const_cast<ChecklistItem*>(static_cast<const Unit*>(this)->Item(id));
}

Status RecordCounter::Add(std::string_view piece) {
  while (!piece.empty()) {
    const size_t end = piece.find('\n');
    rest_ += piece.substr(0, end);
    if (rest_.size() > kMaxLineBytes) {
      return absl::InvalidArgumentError(
          StrCat(where_, ": line ", line_ + 1, " is longer than ", kMaxLineBytes, " bytes"));
    }
    if (end == piece.npos) break;
    PLINTH_RETURN_IF_ERROR(Line(rest_));
    rest_.clear();
    piece.remove_prefix(end + 1);
  }
  return absl::OkStatus();
}

Status RecordCounter::Line(std::string_view line) {
  const std::string place = StrCat(where_, ": line ", ++line_);
  PLINTH_ASSIGN_OR_RETURN(const formats::JsonValue value, formats::ParseJson(line, place));
  const formats::JsonValue* summary = value.Find("summary");
  if (summary != nullptr && summary->flag() != nullptr && *summary->flag()) return absl::OkStatus();
  const formats::JsonValue* status = value.Find("status");
  const std::string* name = status == nullptr ? nullptr : status->text();
  const auto at = name == nullptr ? kRecordStatuses.end()
                                  : std::find(kRecordStatuses.begin(), kRecordStatuses.end(), *name);
  if (at == kRecordStatuses.end()) {
    return absl::InvalidArgumentError(StrCat(
        place, ": \"status\" is ", status == nullptr ? std::string("missing") : formats::ShortText(*status),
        "; one of ", Join(kRecordStatuses, ", "), " is expected"));
  }
  ++counts_.total;
  ++counts_.by_status[static_cast<size_t>(at - kRecordStatuses.begin())];
  return absl::OkStatus();
}

StatusOr<RecordCounts> RecordCounter::Finish() {
  if (!rest_.empty()) {
    return absl::InvalidArgumentError(StrCat(where_, ": line ", line_ + 1, " has no end: the file was cut"));
  }
  return counts_;
}

std::string Rfc3339(int64_t wall) {
  const int64_t milliseconds = wall / 1'000'000;
  const std::time_t seconds = milliseconds / 1000;
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[64];
  std::snprintf(text, sizeof(text), "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", parts.tm_year + 1900,
                parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
                static_cast<int>(milliseconds % 1000));
  return text;
}

StatusOr<std::string> CompactTime(std::string_view t) {
  constexpr std::string_view kPattern = "dddd-dd-ddTdd:dd:dd";
  bool good = t.size() > kPattern.size() && t.ends_with('Z');
  for (size_t i = 0; good && i < kPattern.size(); ++i) {
    good = kPattern[i] == 'd' ? IsDigit(t[i]) : t[i] == kPattern[i];
  }
  good = good && InRange(t.substr(5, 2), 1, 12) && InRange(t.substr(8, 2), 1, 31) &&
         InRange(t.substr(11, 2), 0, 23) && InRange(t.substr(14, 2), 0, 59) &&
         InRange(t.substr(17, 2), 0, 60);
  if (good) {
    const std::string_view fraction = t.substr(kPattern.size(), t.size() - kPattern.size() - 1);
    good = fraction.empty() || (fraction[0] == '.' && fraction.size() >= 2 && fraction.size() <= 10 &&
                                std::all_of(fraction.begin() + 1, fraction.end(), IsDigit));
  }
  if (!good) {
    return absl::InvalidArgumentError(
        StrCat("the time ", formats::QuotedShort(t), " is not RFC 3339 in UTC, as 2026-11-30T18:30:00.125Z"));
  }
  std::string compact;
  for (const char c : t) {
    if (c != '-' && c != ':') compact += c;
  }
  return compact;
}

}  // namespace plinth::evidence
