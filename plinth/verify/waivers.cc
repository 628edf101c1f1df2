#include "plinth/verify/waivers.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "plinth/base/digest.h"
#include "plinth/base/files.h"
#include "plinth/base/pattern.h"
#include "plinth/formats/config.h"
#include "plinth/formats/toml.h"
#include "plinth/series/civil_time.h"

namespace plinth::verify {
namespace {

using formats::Config;

// Whoever takes a warning upon himself looks at it again within a year.
constexpr int64_t kMostDays = 366;
constexpr int64_t kMostRecords = 100'000;
constexpr int64_t kNanosPerDay = int64_t{86400} * 1'000'000'000;

bool Blank(std::string_view text) { return text.find_first_not_of(" \t\r\n") == std::string_view::npos; }

StatusOr<std::string> Said(const Config& c, std::string_view key, std::string_view wanted) {
  PLINTH_ASSIGN_OR_RETURN(std::string text, c.Text(key));
  if (Blank(text)) return c.Refuse(key, wanted);
  return text;
}

bool ReadNumber(std::string_view text, int* number) {
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return error == std::errc() && stop == text.data() + text.size();
}

// "2027-03-31" as a day; false for anything else.
bool ReadDay(std::string_view text, int64_t* day) {
  int year = 0, month = 0, of_month = 0;
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') return false;
  if (!ReadNumber(text.substr(0, 4), &year) || !ReadNumber(text.substr(5, 2), &month) ||
      !ReadNumber(text.substr(8, 2), &of_month)) {
    return false;
  }
  if (year < 1970 || month < 1 || month > 12 || of_month < 1 || of_month > series::DaysInMonth(year, month))
    return false;
  *day = series::DaysFromCivil(year, month, of_month);
  return true;
}

StatusOr<Waiver> ReadWaiver(const Config& c, int64_t today) {
  PLINTH_RETURN_IF_ERROR(c.CheckKeys({"tensor", "rule", "owner", "reason", "expires"}));
  Waiver w;
  PLINTH_ASSIGN_OR_RETURN(w.tensor, Said(c, "tensor", "a tensor's name or a pattern with * and ?"));
  PLINTH_ASSIGN_OR_RETURN(const int64_t rule, c.Int("rule", 1, 4));
  if (rule < 3)
    return c.Refuse("rule", "3 or 4 (what rules 1 and 2 find is a failure, which nobody can waive)");
  w.rule = static_cast<int>(rule);
  PLINTH_ASSIGN_OR_RETURN(w.owner, Said(c, "owner", "the name of who answers for it"));
  PLINTH_ASSIGN_OR_RETURN(w.reason, Said(c, "reason", "why the warning is acceptable"));
  PLINTH_ASSIGN_OR_RETURN(w.expires, c.Text("expires"));
  if (!ReadDay(w.expires, &w.expires_day) || w.expires_day > today + kMostDays) {
    return c.Refuse("expires", "a date like 2027-03-31, at most a year ahead");
  }
  return w;
}

}  // namespace

StatusOr<Waivers> ParseWaivers(std::string_view text, std::string where, int64_t today) {
  PLINTH_ASSIGN_OR_RETURN(const Config root, formats::ParseTomlWithLines(text, std::move(where)));
  PLINTH_RETURN_IF_ERROR(root.CheckKeys({"waiver"}));
  PLINTH_ASSIGN_OR_RETURN(const std::vector<Config> records, root.Sections("waiver"));
  if (static_cast<int64_t>(records.size()) > kMostRecords) {
    return root.Refuse("waiver", StrCat("at most ", kMostRecords, " records"));
  }
  Waivers waivers;
  PLINTH_ASSIGN_OR_RETURN(waivers.sha256, Sha256Hex(text));
  for (const Config& record : records) {
    PLINTH_ASSIGN_OR_RETURN(Waiver w, ReadWaiver(record, today));
    if (w.expires_day < today) {
      waivers.notes.push_back(StrCat(root.where(), ": the waiver of rule ", w.rule, " for ",
                                     formats::QuotedShort(w.tensor), " by ", formats::QuotedShort(w.owner),
                                     " expired on ", w.expires, " and does not count"));
      continue;
    }
    waivers.records.push_back(std::move(w));
  }
  return waivers;
}

StatusOr<Waivers> LoadWaivers(const std::string& path, int64_t today) {
  PLINTH_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, formats::kMaxConfigBytes));
  return ParseWaivers(text, path, today);
}

bool ApplyWaivers(const Waivers& waivers, std::string_view tensor, TensorVerdict* verdict) {
  if (verdict->verdict != Verdict::kWarn) return false;
  std::string said;
  for (const RuleResult& rule : verdict->rules) {
    if (rule.state != RuleState::kBroken) continue;
    const auto at = std::find_if(waivers.records.begin(), waivers.records.end(), [&](const Waiver& w) {
      return w.rule == rule.number && MatchesWildcards(w.tensor, tensor);
    });
    if (at == waivers.records.end()) return false;
    StrAppend(&said, said.empty() ? "" : "; ", "rule ", rule.number, " waived by ", at->owner, " until ",
              at->expires, ": ", at->reason);
  }
  verdict->waiver = said;
  return !said.empty();
}

int64_t DayOf(int64_t wall_nanoseconds) { return series::FloorDiv(wall_nanoseconds, kNanosPerDay); }

}  // namespace plinth::verify
