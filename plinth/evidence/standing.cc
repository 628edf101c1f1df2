#include "plinth/evidence/standing.h"

#include <algorithm>
#include <cstdio>

#include "plinth/base/files.h"
#include "plinth/evidence/unit_names.h"

namespace plinth::evidence {
namespace {

const AskedItem* Find(const std::vector<AskedItem>& asked, std::string_view id) {
  const auto at = std::find_if(asked.begin(), asked.end(), [&](const AskedItem& a) { return a.id == id; });
  return at == asked.end() ? nullptr : &*at;
}

std::string Short(const AskedItem& item) {
  if (item.covers == AskedItem::Covers::kSame) {
    return item.text.size() > 24 ? StrCat(item.text.substr(0, 12), "...") : item.text;
  }
  char text[32];
  std::snprintf(text, sizeof(text), "%.6g", item.number);
  return text;
}

bool Covers(const AskedItem& now, const AskedItem& then) {
  if (now.covers != then.covers) return false;
  switch (then.covers) {
    case AskedItem::Covers::kSame:
      return now.text == then.text;
    case AskedItem::Covers::kAtLeast:
      return now.number >= then.number;
    case AskedItem::Covers::kAtMost:
      break;
  }
  return now.number <= then.number;
}

// A unit of the identity that can be trusted.
struct Past {
  std::string time;  // compact
  Unit unit;
};

bool LaterThan(const Past& unit, const StandingFailure& failure) {
  const auto time = CompactTime(failure.finished);
  return time.ok() && IsLater(unit.time, *time);
}

Status AddUnit(const std::string& folder, const std::string& identity, const TrustedKeys& keys,
               std::vector<Past>* past, int64_t* untrusted) {
  Fault fault = Fault::kNone;
  // The place of a newest folder would be held against the history; here only names of the history matter.
  const bool in_history = !SplitHistoryName(BaseName(folder)).first.empty();
  auto opened = OpenEvidence(
      folder, keys, {.identity = identity, .check_place = in_history, .statement_only = true}, &fault);
  if (fault == Fault::kUntrustedKey && untrusted != nullptr) ++*untrusted;
  if (!opened.ok()) return fault == Fault::kNone ? opened.status() : absl::OkStatus();
  PLINTH_ASSIGN_OR_RETURN(std::string time, CompactTime(opened->unit.finished));
  past->push_back({std::move(time), std::move(opened->unit)});
  return absl::OkStatus();
}

StatusOr<std::vector<Past>> UnitsOf(std::span<const std::string> roots, const std::string& identity,
                                    const TrustedKeys& keys, int64_t* untrusted = nullptr) {
  std::vector<Past> past;
  for (const std::string& root : roots) {
    const auto folders = ListUnits(root);
    if (absl::IsNotFound(folders.status()) || !IsFolder(root)) continue;
    PLINTH_RETURN_IF_ERROR(folders.status());
    for (const auto* list : {&folders->newest, &folders->history}) {
      for (const std::string& folder : *list) {
        if (folder.ends_with(identity))
          PLINTH_RETURN_IF_ERROR(AddUnit(folder, identity, keys, &past, untrusted));
      }
    }
  }
  return past;
}

void AddFailure(StandingFailure failure, std::vector<StandingFailure>* failures) {
  const bool known = std::any_of(failures->begin(), failures->end(), [&](const StandingFailure& f) {
    return f.finished == failure.finished && f.questions == failure.questions && f.asked == failure.asked;
  });
  if (!known) failures->push_back(std::move(failure));
}

// Whether whatever lifts `larger` lifts `smaller` too, `larger` being the later one.
bool Implies(const StandingFailure& larger, const StandingFailure& smaller) {
  return Lacking(smaller.asked, larger.asked).empty() &&
         std::all_of(smaller.questions.begin(), smaller.questions.end(), [&](const std::string& id) {
           return std::count(larger.questions.begin(), larger.questions.end(), id) > 0;
         });
}

}  // namespace

std::vector<std::string> Lacking(const std::vector<AskedItem>& then, const std::vector<AskedItem>& now) {
  std::vector<std::string> lacking;
  for (const AskedItem& item : then) {
    const AskedItem* mine = Find(now, item.id);
    if (mine == nullptr) {
      lacking.push_back(StrCat(item.id, " is not asked"));
    } else if (!Covers(*mine, item)) {
      lacking.push_back(StrCat(item.id, " was ", Short(item), ", is ", Short(*mine)));
    }
  }
  return lacking;
}

bool Lifts(const Unit& later, const StandingFailure& failure) {
  const bool answered =
      std::all_of(failure.questions.begin(), failure.questions.end(), [&](const std::string& id) {
        const ChecklistItem* item = later.Item(id);
        return item != nullptr && (item->answer == Answer::kYes || item->answer == Answer::kWarned);
      });
  return answered && Lacking(failure.asked, later.asked).empty();
}

StandingFailure FailureOf(const Unit& unit) {
  StandingFailure failure{unit.finished, {}, "", unit.reproduce, unit.asked};
  for (const ChecklistItem& item : unit.checklist) {
    if (item.answer != Answer::kNo) continue;
    if (failure.questions.empty()) {
      failure.text = item.text.empty() ? item.id : StrCat(item.id, ": ", item.text);
    }
    failure.questions.push_back(item.id);
  }
  return failure;
}

StatusOr<std::vector<StandingFailure>> StandingFailures(std::span<const std::string> roots,
                                                        const std::string& identity, const Unit* now,
                                                        const TrustedKeys& keys) {
  PLINTH_ASSIGN_OR_RETURN(std::vector<Past> past, UnitsOf(roots, identity, keys));
  std::vector<StandingFailure> failures;
  for (const Past& p : past) {
    StandingFailure own = FailureOf(p.unit);
    const bool itself = now != nullptr && now->finished == own.finished;
    if (!own.questions.empty() && !itself) AddFailure(std::move(own), &failures);
    for (const StandingFailure& carried : p.unit.standing) AddFailure(carried, &failures);
  }
  if (now != nullptr) {
    for (const StandingFailure& carried : now->standing) AddFailure(carried, &failures);
    PLINTH_ASSIGN_OR_RETURN(std::string time, CompactTime(now->finished));
    past.push_back({std::move(time), *now});
  }
  std::erase_if(failures, [&](const StandingFailure& f) {
    return std::any_of(past.begin(), past.end(),
                       [&](const Past& p) { return LaterThan(p, f) && Lifts(p.unit, f); });
  });
  std::stable_sort(failures.begin(), failures.end(), [](const StandingFailure& a, const StandingFailure& b) {
    const auto x = CompactTime(a.finished), y = CompactTime(b.finished);
    return x.ok() && y.ok() && IsLater(*x, *y);
  });
  std::vector<StandingFailure> kept;
  const StandingFailure own = now == nullptr ? StandingFailure{} : FailureOf(*now);
  for (StandingFailure& f : failures) {
    const bool implied =
        (!own.questions.empty() && Implies(own, f)) ||
        std::any_of(kept.begin(), kept.end(), [&](const StandingFailure& k) { return Implies(k, f); });
    if (!implied) kept.push_back(std::move(f));
  }
  return kept;
}

StatusOr<int64_t> UntrustedUnits(std::span<const std::string> roots, const std::string& identity,
                                 const TrustedKeys& keys) {
  int64_t untrusted = 0;
  PLINTH_RETURN_IF_ERROR(UnitsOf(roots, identity, keys, &untrusted).status());
  return untrusted;
}

StatusOr<bool> RunIsOnRecord(const std::string& root, const std::string& identity, const std::string& run,
                             const TrustedKeys& keys) {
  PLINTH_ASSIGN_OR_RETURN(const std::vector<Past> past, UnitsOf({&root, 1}, identity, keys));
  return std::any_of(past.begin(), past.end(),
                     [&](const Past& p) { return !run.empty() && p.unit.run == run; });
}

std::string ToText(const StandingFailure& failure, const Unit& now) {
  const std::vector<std::string> lacking = Lacking(failure.asked, now.asked);
  return StrCat("the evidence of ", failure.finished, " says that it computes wrong: ", failure.text, "; ",
                now.finished == failure.finished ? std::string("nothing has lifted that since")
                : lacking.empty()
                    ? StrCat("that of ", now.finished, " leaves it open")
                    : StrCat("that of ", now.finished, " asks less (", Join(lacking, "; "), ")"));
}

}  // namespace plinth::evidence
