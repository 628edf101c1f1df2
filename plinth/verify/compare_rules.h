// Judges what `plinth compare` compares by the acceptance's rules, beside waivers and customers' lines.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plinth/base/status.h"
#include "plinth/base/threads.h"
#include "plinth/verify/band.h"
#include "plinth/verify/requirements.h"
#include "plinth/verify/rules.h"
#include "plinth/verify/waivers.h"

namespace plinth::formats {
class JsonWriter;
}

namespace plinth::verify {

class TensorSource;

// Paths are empty where nothing was given.
struct RuleOptions {
  std::string rules;         // a file; empty or "builtin": the set that the program carries
  std::string incumbent;     // see TensorSource::Open
  std::string band;          // a folder with captures of the incumbent's repeats, or a band.json
  std::string write_band;    // where the band goes as band.json
  std::string waivers;       // see LoadWaivers
  std::string requirements;  // see LoadRequirements
  int64_t today = 0;         // days since 1970-01-01, for waivers
  double terms = 0;          // K of products and sums; 0: the rule set's assumption
};

// What the rules say of one tensor, and what the customer's own lines say.
struct RowVerdict {
  TensorVerdict verdict;
  std::vector<RequirementResult> requirements;

  // "pass", "warn", "fail", or "unproven" for a pass that judged no number.
  std::string_view word() const;
};

// Over all tensors, ranks and repeats.
struct RuleSummary {
  std::string rules, digest;  // where the rule set came from, and its sha256
  std::string missed;         // what its self-test missed: all results are mistrusted; empty: it passed
  std::string band;           // how much the band's repeats say; empty: no band
  int64_t waived = 0;
  std::vector<int> unproven;                    // rules that some tensor left undecided
  std::vector<RequirementResult> requirements;  // each over all tensors
  std::vector<std::string> notes;               // waivers that have expired
  TensorVerdict worst;                          // Worst over all rows; `from` names tensor and rank
};

// The sides of one tensor, as TensorsToJudge, and what decides beside the rules.
struct RowToJudge {
  std::string_view name;  // without direction, port and step: waivers and requirements go by it
  TensorsToJudge tensors;
  formats::ConstTensorRef required;  // what the customer's lines compare the candidate with
};

class RuleJudge {
 public:
  // Loads everything and tests the rule set. `same` (may be null) is a capture whose model
  // and inputs the band's must be. Errors: those of the files; InvalidArgument for a band of one run or of
  // other inputs, and for --write-band without a band of one rank.
  static StatusOr<RuleJudge> Open(const RuleOptions& options, const TensorSource* same, Threads* threads);

  // Writes the band where that was asked: last, so that bad input leaves nothing behind. Errors: FileError.
  Status WriteBand() const;

  // Null where none was measured.
  const TensorBand* Band(int64_t rank, std::string_view key) const;
  // Whether all ranks must hold the same bits.
  bool IdenticalRanks(std::string_view op, std::string_view class_name) const;
  // May be called from several threads. Errors: InvalidArgument for an unknown class.
  StatusOr<RowVerdict> Judge(const RowToJudge& row) const;
  // A tensor whose structure is broken before numbers could be compared. `kind`: a fault_kind.
  RowVerdict Broken(const std::string& what, std::string_view kind) const;
  // A tensor of which numbers were not recorded: no rule can be decided.
  RowVerdict Unmeasured(const std::string& why, bool failed) const;

  // Adds a row's verdict to the summary; `label` names its tensor and rank.
  void Count(const RowVerdict& row, const std::string& label);
  const RuleSummary& summary() const { return summary_; }
  const std::string& missed() const { return summary_.missed; }

 private:
  explicit RuleJudge(RuleSet rules) : rules_(std::move(rules)) {}
  Status LoadBands(const RuleOptions& options, const TensorSource* same, Threads* threads);

  RuleSet rules_;
  double terms_ = 0;
  std::string write_band_;
  std::map<int64_t, verify::Band> bands_;  // by rank; one alone counts for all
  Waivers waivers_;
  Requirements requirements_;
  RuleSummary summary_;
  bool counted_ = false;
};

// Appends "verdict", "class", "rules", "remarks", "waiver" and "requirements" to an open object.
void WriteJson(const RowVerdict& row, formats::JsonWriter* writer);
// Appends "rules", "self_test", "band", "waived", "unproven_rules", "requirements" and "decided_by".
void WriteJson(const RuleSummary& summary, formats::JsonWriter* writer);
// Lines for people, without indent: the verdict with the state of each rule, then what needs a sentence.
std::vector<std::string> Lines(const RowVerdict& row);
std::vector<std::string> Lines(const RuleSummary& summary);

}  // namespace plinth::verify
