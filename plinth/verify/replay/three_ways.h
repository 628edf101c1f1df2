// Joins what is known about one output from two sides into a verdict.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "plinth/verify/replay/judgement.h"
#include "plinth/verify/rows.h"
#include "plinth/verify/rule_set.h"

namespace plinth::verify::replay {

// Candidate against incumbent, element by element.
struct PairStats {
  bool same_type = true, same_shape = true, same_inputs = false;
  int64_t elements = 0, unequal = 0, not_finite = 0;  // not_finite: NaN or infinity on one side only
  double max_abs = 0, rel_l2 = 0;
};
PairStats ComparePair(const Values& candidate, const Values& incumbent);

// Everything about one output.
struct ThreeWays {
  std::optional<Way> candidate, incumbent;
  std::optional<PairStats> pair;
  std::string truth = "none";     // "reference", "given" or "none"
  std::string why_no_truth;       // one sentence
  bool wrong_use = false;         // shapes or attributes contradict each other: failed
  std::string incumbent_note;     // why the incumbent has no judgement of its own
  std::string fault;              // kind of the fault, where it is known
  std::string precision = "f32";  // the arithmetic that was allowed
  NumberFormat format;
};

// "holds", "broken", "unproven", "not applicable": rules 1 to 4 of the acceptance.
struct RuleStates {
  std::string_view structure, cap, incumbent, noise = "unproven";
  std::string reason;  // where the incumbent rule is broken
};
RuleStates RulesOf(const RuleSet& rules, const ThreeWays& ways);

// Fills status, numbers, detail and the further members of the row.
void FillRow(const RuleSet& rules, const ThreeWays& ways, CheckRow& row);

// "A" ... "G" of the acceptance's table.
std::string_view ClassLetter(ops::ToleranceClass kind);

}  // namespace plinth::verify::replay
