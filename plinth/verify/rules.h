// Judges a tensor by the acceptance's rule set: structure, hard cap, relative to the incumbent, noise.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plinth/base/status.h"
#include "plinth/verify/band.h"
#include "plinth/verify/cap.h"
#include "plinth/verify/difference.h"
#include "plinth/verify/rule_set.h"

namespace plinth::verify {

enum class Verdict : uint8_t { kPass, kWarn, kFail };
// "pass", "warn", "fail".
std::string_view VerdictName(Verdict verdict);

enum class RuleState : uint8_t { kHolds, kBroken, kUnproven, kNotApplicable };
// "holds", "broken", "unproven", "not applicable".
std::string_view RuleStateName(RuleState state);

struct RuleResult {
  int number = 0;  // 1 structure, 2 hard cap, 3 relative to the incumbent, 4 noise
  RuleState state = RuleState::kUnproven;
  std::string detail;              // one sentence: what was measured, or what is missing to decide it
  double measured = 0, limit = 0;  // of the statistic nearest to its limit; 0 where none was measured
  double share = 0;                // measured / limit there; infinite where the limit is 0
};

struct TensorVerdict {
  Verdict verdict = Verdict::kFail;
  std::array<RuleResult, 4> rules;
  std::string rule_class;  // "G"
  std::string reason;      // why it is no pass; for a pass, what is unproven; else empty
  std::vector<std::string>
      remarks;  // what is odd and breaks no rule: better than the incumbent, both sides alike wrong
  // The kind of fault, where the rules themselves know it: missing, shape, type, not-finite, unwritten,
  // subnormals, ranks, indices, encoding, not-repeatable, better. Else empty: Diagnose (diagnosis.h) looks
  // for others.
  std::string fault_kind;
  std::string from;    // of Worst: which rank and repeat decided
  std::string waiver;  // of ApplyWaivers: who waived it until when, and why; stays a warning

  // Numbers of the rules that could not be decided.
  std::vector<int> Unproven() const;
  // Whether anything beyond the structure was decided. A pass without it says nothing about numbers: report
  // it as unproven.
  bool judged() const;
};

// "pass", "warn", "fail", or "unproven" for a pass that judged no number; then " (unproven: 3, 4)" and "
// (waived)".
std::string ToText(const TensorVerdict& verdict);

// What is known about one tensor of the candidate d: comparisons with the truth r and the incumbent n.
struct TensorEvidence {
  std::string_view op;          // finds the class; "" for the default class
  std::string_view class_name;  // instead of op's class, where not empty
  // What broke the structure before numbers could be compared: "missing in OUT", "shape f32[2] instead of
  // f32[3]".
  std::string structure, structure_kind;        // the kind is a fault_kind
  const Difference* truth = nullptr;            // Differ(r, d)
  const Difference* incumbent_truth = nullptr;  // Differ(r, n)
  const Difference* incumbent = nullptr;        // Differ(n, d)
  const CapResult* cap = nullptr;               // CheckCap(r, d); of exact classes without r, CheckCap(n, d)
  const TensorBand* band = nullptr;             // of the incumbent
  // How many errors are independent of each other, for the bias; 0: those of all elements. In a free run what
  // came in moves whole rows at once.
  int64_t independent = 0;
  bool truth_decides = true;       // false: r is no wider than d and cannot say which of two is nearer
  std::optional<NumberType> type;  // the declared arithmetic; nullopt: the stored type's
};
// Errors: InvalidArgument for a class that the rule set lacks.
StatusOr<TensorVerdict> Judge(const RuleSet& rules, const TensorEvidence& evidence);

// The table alone: what these states of rules 1 to 4 give.
Verdict VerdictOf(const RuleSet& rules, const std::array<RuleState, 4>& states);

// The tensors themselves. Absent ones are nullopt.
struct TensorsToJudge {
  std::string_view op, class_name;
  std::optional<formats::ConstTensorRef> candidate, truth, incumbent;
  const TensorBand* band = nullptr;
  int64_t independent = 0;  // see TensorEvidence
  // What is broken already, as the caller found it (ranks that differ, a name that stands twice), and its
  // kind.
  std::string structure, structure_kind;
  std::optional<uint64_t> canary;  // the pattern that outputs were filled with beforehand
  std::string_view arithmetic;     // "tf32" where declared; else empty
  // Of indices that an ordering gave: the values beside them and what was ordered; see OrderedIndices.
  std::optional<formats::ConstTensorRef> order_values, order_input;
  CapOptions cap;  // terms, scale, ...; its type and relaxed are filled in here
  Threads* threads = nullptr;
};
struct JudgedTensor {
  TensorVerdict verdict;
  std::optional<Difference> truth, incumbent_truth, incumbent;
};
// Compares what is there and judges it. Differences of shape or type are structure, not errors.
// Errors: InvalidArgument for an unknown class or arithmetic.
StatusOr<JudgedTensor> JudgeTensors(const RuleSet& rules, const TensorsToJudge& tensors);

// The verdict of a tensor over ranks and repeats: the worst one decides, never the first, never a mean; among
// equals the one with a rule nearest to (or farthest beyond) its limit. `labels` name them ("rank 3, repeat
// 0"). A rule that is unproven in any of them is unproven in the result unless it is broken there. An empty
// list is a failure: nothing was compared.
TensorVerdict Worst(std::span<const TensorVerdict> verdicts, std::span<const std::string> labels);

// Class J: whether all ranks hold the same bits. Empty, or one sentence with the first rank, index and values
// that differ from rank 0's.
std::string RankDifference(std::span<const formats::ConstTensorRef> ranks);

// Indices that an ordering gave (class A'): each in range and, where `values` of the ordering and `input` are
// given, input[index] == value bit by bit and no index twice in a row; without input, the same sets as
// `reference` inside runs of equal values. Rows along the last dimension. Empty, or what is wrong with which
// element.
struct OrderedIndices {
  formats::ConstTensorRef indices;
  std::optional<formats::ConstTensorRef> reference, values, input;
  int64_t range = 0;  // indices lie in [0, range); 0: the last dimension of input
};
std::string OrderProblem(const OrderedIndices& order);

// Plants known faults of fixed size into synthetic tensors and sees each verdict come out: pass, warnings by
// rule 3 and by rule 4 alone, failures by 1, by 2, and by 3 and 4 together, in every class and type, and all
// combinations of states. Returns "" or the first thing that was missed: every result by this rule set is
// then `mistrusted`. Takes milliseconds; does not depend on the numbers in the rule set, so that one whose
// numbers were spoilt is found out.
std::string SelfTest(const RuleSet& rules);

}  // namespace plinth::verify
