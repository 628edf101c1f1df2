// The same layers for a model that another framework runs: what it recorded on both sides is held together.
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <set>

#include "plinth/accept/steps.h"
#include "plinth/base/pattern.h"
#include "plinth/base/text.h"
#include "plinth/verify/band.h"
#include "plinth/verify/capture_pairs.h"
#include "plinth/verify/comparison_line.h"
#include "plinth/verify/replay/replay.h"
#include "plinth/verify/requirements.h"
#include "plinth/verify/rules.h"
#include "plinth/verify/waivers.h"

namespace plinth::accept {
namespace {

using formats::Capture;
using formats::CaptureDirection;
using formats::CaptureEntry;
using formats::ConstTensorRef;
using verify::CheckStatus;

using Repeats = std::vector<std::vector<Capture>>;  // [repeat][rank]

// Everything that one rank recorded in full in every repeat.
StatusOr<std::optional<verify::Band>> BandOf(const Work& work, const Repeats& repeats, size_t rank) {
  if (repeats.size() < 2) return std::nullopt;
  std::vector<verify::BandRun> runs;
  for (const auto& ranks : repeats) {
    verify::BandRun run{"repeat", {}};
    for (const CaptureEntry& entry : ranks.at(rank).entries()) {
      const ConstTensorRef* tensor = ranks.at(rank).Tensor(entry);
      if (tensor != nullptr) run.tensors.emplace_back(entry.Key(), *tensor);
    }
    runs.push_back(std::move(run));
  }
  PLINTH_ASSIGN_OR_RETURN(verify::Band band, verify::MakeBand(runs, work.context->threads));
  return band;
}

// A band of the incumbent's repeats that is wider than so many of compare's lines for the type says nothing:
// flipped last bits and other orders of summation stay well below it in every model that computes at all.
constexpr double kWidestBand = 10;

// Judges what one rank of the incumbent recorded beside every repeat of the candidate.
class RankJudge {
 public:
  RankJudge(Work& work, size_t rank, const Capture* truth)
      : work_(work),
        rank_(rank),
        truth_(truth),
        waivers_(work.subject->waivers),
        requirements_(work.subject->requirements),
        incumbent_(work.subject->incumbent[0][rank]) {}

  Status Run() {
    PLINTH_ASSIGN_OR_RETURN(band_, BandOf(work_, work_.subject->incumbent, rank_));
    for (const CaptureEntry& entry : incumbent_.entries()) {
      if (entry.direction != CaptureDirection::kOutput) continue;
      PLINTH_RETURN_IF_ERROR(work_.CheckInterrupted());
      PLINTH_RETURN_IF_ERROR(RunEntry(entry));
    }
    ReportExtra();
    return absl::OkStatus();
  }

  int64_t passed = 0, warned = 0, failed = 0, open = 0;
  std::string first_bad, first_reason;
  double first_error = std::nan("");
  std::set<int> unproven;

 private:
  std::string NameOf(const CaptureEntry& entry) const {
    const bool ranks = work_.subject->incumbent[0].size() > 1;
    return StrCat(entry.name, entry.port > 0 ? StrCat(" output ", entry.port) : "",
                  entry.step > 0 ? StrCat(" step ", entry.step) : "", ranks ? StrCat(" rank ", rank_) : "");
  }

  Status RunEntry(const CaptureEntry& entry) {
    const ConstTensorRef* n = incumbent_.Tensor(entry);
    if (n == nullptr) return RunStatistics(entry);
    std::vector<verify::TensorVerdict> verdicts;
    std::vector<std::string> labels;
    double error = std::nan("");
    const Repeats& candidates = work_.subject->candidate;
    for (size_t r = 0; r < candidates.size(); ++r) {
      PLINTH_ASSIGN_OR_RETURN(const verify::JudgedTensor judged, JudgeOne(entry, *n, candidates[r][rank_]));
      if (judged.incumbent.has_value() && !(judged.incumbent->rel_l2 <= error))
        error = judged.incumbent->rel_l2;
      verdicts.push_back(judged.verdict);
      if (judged.incumbent.has_value()) HoldAgainstLine(*judged.incumbent, &verdicts.back());
      labels.push_back(StrCat("repeat ", r));
    }
    verify::TensorVerdict worst = verify::Worst(verdicts, labels);
    verify::ApplyWaivers(waivers_, entry.name, &worst);
    if (!worst.waiver.empty()) AddWaiver(entry);
    return Report(entry, worst, error);
  }

  // Where no truth bounds the error, the line of `plinth compare` does. What lies beyond it is wrong even
  // where no rule could be decided. What lies within and moves more than the incumbent's own repeats do is a
  // warning: repeats of one platform, last bits flipped or not, do not tell what another order of summation
  // does.
  static void HoldAgainstLine(const verify::Difference& d, verify::TensorVerdict* verdict) {
    const double limit = verify::DefaultLimit(d.unit_element);
    if (verdict->verdict == verify::Verdict::kPass && !verdict->judged() && !(d.rel_l2 <= limit)) {
      verdict->verdict = verify::Verdict::kFail;
      verdict->reason = StrCat("beyond the line of ", Short(limit),
                               " for its type, and neither truth nor repeats say that "
                               "this is natural");
      return;
    }
    const auto is = [&](int rule, verify::RuleState state) {
      return verdict->rules[static_cast<size_t>(rule - 1)].state == state;
    };
    const bool noise_alone = is(1, verify::RuleState::kHolds) && is(2, verify::RuleState::kUnproven) &&
                             is(3, verify::RuleState::kUnproven) && is(4, verify::RuleState::kBroken);
    const StatusOr<verify::ComparisonLine> line = verify::LineFor("", d.unit_element, 1);
    if (!noise_alone || !line.ok() || !verify::JudgeByLine(d, nullptr, *line).broken.empty()) return;
    verdict->verdict = verify::Verdict::kWarn;
    verdict->reason =
        StrCat("moves more than the incumbent's own repeats, and stays within the line of ", Short(limit),
               " for its type; a truth in double decides; rule 4: ", verdict->rules[3].detail);
  }

  StatusOr<verify::JudgedTensor> JudgeOne(const CaptureEntry& entry, const ConstTensorRef& n,
                                          const Capture& candidate) {
    const CaptureEntry* ours = candidate.Find(entry.Key());
    const ConstTensorRef* d = ours == nullptr ? nullptr : candidate.Tensor(*ours);
    verify::TensorsToJudge tensors;
    tensors.op = entry.op;
    // What ran freely carries the errors of everything before it; only from the reference's own inputs does
    // the operator's own class say what is right. Whole numbers carry none: they are equal or not.
    if (!candidate.info().forced) {
      const auto element = verify::ElementFromName(entry.dtype);
      const bool whole = element.has_value() && !verify::InfoOf(*element).floating;
      tensors.independent = verify::IndependentErrors(entry.dims);
      tensors.class_name = whole ? "A" : std::string_view(work_.subject->rules.default_class);
    }
    if (d != nullptr) tensors.candidate = *d;
    tensors.incumbent = n;
    tensors.threads = work_.context->threads;
    if (truth_ != nullptr) {
      const CaptureEntry* r = truth_->Find(entry.Key());
      if (r != nullptr && truth_->Tensor(*r) != nullptr) tensors.truth = *truth_->Tensor(*r);
    }
    const verify::TensorBand* band = band_.has_value() ? band_->Find(entry.Key()) : nullptr;
    if (band != nullptr && !band->bitwise) tensors.band = band;
    PLINTH_ASSIGN_OR_RETURN(verify::JudgedTensor judged, verify::JudgeTensors(work_.subject->rules, tensors));
    // Runs of one model on one platform lie near each other. Where they do not, their distance excuses
    // nothing.
    if (tensors.band != nullptr && judged.incumbent.has_value() &&
        !(band->rel_l2 <= kWidestBand * verify::DefaultLimit(judged.incumbent->unit_element))) {
      tensors.band = nullptr;
      PLINTH_ASSIGN_OR_RETURN(judged, verify::JudgeTensors(work_.subject->rules, tensors));
      judged.verdict.rules[3].detail =
          StrCat("the incumbent's own runs lie ", Short(band->rel_l2), " apart, more than ",
                 Short(kWidestBand), " times the line for its type: they are no repeats of one computation");
    }
    // Repeats that are equal bit by bit do not tell how far another platform may be apart; one that is equal
    // too is as near as can be.
    if (band != nullptr && band->bitwise && judged.incumbent.has_value() && judged.incumbent->unequal == 0) {
      tensors.band = band;
      PLINTH_ASSIGN_OR_RETURN(judged, verify::JudgeTensors(work_.subject->rules, tensors));
    }
    if (d == nullptr) return judged;
    if (!candidate.info().forced) PLINTH_RETURN_IF_ERROR(ExcuseCap(tensors, &judged.verdict));
    PLINTH_ASSIGN_OR_RETURN(const auto results, verify::CheckRequirements(requirements_, entry.name, n, *d,
                                                                          work_.context->threads));
    for (const verify::RequirementResult& result : results) {
      AddRequirement(work_, Ask::kLayers, result, NameOf(entry));
    }
    return judged;
  }

  // In a free run errors add up along the whole model, and no class says how far: where the incumbent itself
  // is beyond the cap, breaking it does not tell right from wrong. Rules 3 and 4 then decide.
  Status ExcuseCap(verify::TensorsToJudge tensors, verify::TensorVerdict* verdict) {
    verify::RuleResult& cap = verdict->rules[1];
    if (!tensors.truth.has_value() || cap.state != verify::RuleState::kBroken) return absl::OkStatus();
    tensors.candidate = tensors.incumbent;
    tensors.band = nullptr;
    PLINTH_ASSIGN_OR_RETURN(const verify::JudgedTensor incumbent,
                            verify::JudgeTensors(work_.subject->rules, tensors));
    if (incumbent.verdict.rules[1].state != verify::RuleState::kBroken) return absl::OkStatus();
    cap.state = verify::RuleState::kUnproven;
    cap.detail =
        StrCat("in the free run the incumbent is beyond the cap too: ", incumbent.verdict.rules[1].detail);
    std::array<verify::RuleState, 4> states;
    for (size_t i = 0; i < states.size(); ++i) states[i] = verdict->rules[i].state;
    verdict->verdict = verify::VerdictOf(work_.subject->rules, states);
    std::vector<std::string> broken;
    for (const verify::RuleResult& rule : verdict->rules) {
      if (rule.state == verify::RuleState::kBroken)
        broken.push_back(StrCat("rule ", rule.number, ": ", rule.detail));
    }
    verdict->reason = broken.empty() ? cap.detail : Join(broken, "; ");
    return absl::OkStatus();
  }

  // What only statistics are known of can be found wrong, never right.
  Status RunStatistics(const CaptureEntry& entry) {
    Record record;
    record.name = NameOf(entry);
    record.status = CheckStatus::kUnproven;
    record.detail = "statistics alone were recorded; `plinth locate --next-plan` says what to record in full";
    for (const auto& ranks : work_.subject->candidate) {
      const CaptureEntry* ours = ranks[rank_].Find(entry.Key());
      if (ours == nullptr) {
        record.status = CheckStatus::kMissing;
        record.detail = "the incumbent has it, the candidate has not";
      } else if (ours->dims != entry.dims) {
        record.status = CheckStatus::kFailed;
        record.detail = "the candidate's has another shape";
      } else if (ours->stats.has_value() && entry.stats.has_value() &&
                 (ours->stats->nan != entry.stats->nan || ours->stats->pos_inf != entry.stats->pos_inf ||
                  ours->stats->neg_inf != entry.stats->neg_inf)) {
        record.status = CheckStatus::kFailed;
        record.detail = "the candidate has another number of values that are not finite";
      }
    }
    Count(entry, record.status, record.detail, std::nan(""));
    work_.Add(Ask::kLayers, std::move(record));
    return absl::OkStatus();
  }

  Status Report(const CaptureEntry& entry, const verify::TensorVerdict& verdict, double error) {
    for (const int rule : verdict.Unproven()) unproven.insert(rule);
    Record record;
    record.name = NameOf(entry);
    record.measured = error;
    record.detail =
        StrCat("relative L2 distance to the incumbent; class ", verdict.rule_class, ", ",
               verify::ToText(verdict), verdict.reason.empty() ? "" : StrCat(": ", verdict.reason),
               verdict.from.empty() ? "" : StrCat(" (", verdict.from, ")"));
    record.status = verdict.verdict == verify::Verdict::kFail   ? CheckStatus::kFailed
                    : verdict.verdict == verify::Verdict::kWarn ? CheckStatus::kWarned
                    : verdict.judged()                          ? CheckStatus::kPassed
                                                                : CheckStatus::kUnproven;
    Count(entry, record.status, verdict.reason, error);
    work_.view.drift.push_back({entry.name, entry.op, error, std::nan("")});
    work_.Add(Ask::kLayers, std::move(record));
    return absl::OkStatus();
  }

  void Count(const CaptureEntry& entry, CheckStatus status, const std::string& reason, double error) {
    passed += status == CheckStatus::kPassed;
    open += status == CheckStatus::kUnproven;
    warned += status == CheckStatus::kWarned;
    const bool bad = status == CheckStatus::kFailed || status == CheckStatus::kMissing;
    failed += bad;
    if (!bad || !first_bad.empty()) return;
    first_bad = entry.name;
    first_reason = reason;
    first_error = error;
  }

  void AddWaiver(const CaptureEntry& entry) {
    for (const verify::Waiver& waiver : waivers_.records) {
      if (!MatchesWildcards(waiver.tensor, entry.name)) continue;
      work_.view.limits.push_back({Message::kLimitWaiver, {waiver.expires, waiver.owner, waiver.reason}});
      work_.waivers.push_back({entry.name, waiver.owner, waiver.reason, waiver.expires});
      return;
    }
  }

  void ReportExtra() {
    for (const CaptureEntry& entry : work_.subject->candidate[0][rank_].entries()) {
      if (entry.direction != CaptureDirection::kOutput || incumbent_.Find(entry.Key()) != nullptr) continue;
      Record record;
      record.name = NameOf(entry);
      record.status = CheckStatus::kExtra;
      record.detail = "the candidate has it, the incumbent has not";
      work_.Add(Ask::kLayers, std::move(record));
    }
  }

  Work& work_;
  const size_t rank_;
  const Capture* truth_;
  const verify::Waivers& waivers_;
  const verify::Requirements& requirements_;
  const Capture& incumbent_;
  std::optional<verify::Band> band_;
};

// As many ranks everywhere; false with a record where not.
bool SameRanks(Work& work) {
  const size_t ranks = work.subject->incumbent[0].size();
  for (const auto* side : {&work.subject->incumbent, &work.subject->candidate}) {
    for (const auto& repeat : *side) {
      if (repeat.size() == ranks) continue;
      Record record;
      record.name = "ranks";
      record.status = CheckStatus::kFailed;
      record.detail =
          StrCat(repeat[0].folder(), " is of ", repeat.size(), " ranks, the first capture of ", ranks);
      work.SayWrong(Ask::kLayers, Message::kRecordFailed, {"ranks", record.detail});
      work.Add(Ask::kLayers, std::move(record));
      return false;
    }
  }
  return true;
}

StatusOr<std::vector<Capture>> OpenTruth(const Work& work) {
  if (work.recipe->truth.empty()) return std::vector<Capture>();
  PLINTH_ASSIGN_OR_RETURN(std::vector<Capture> truth, formats::OpenCaptures(work.recipe->truth));
  const bool any_double = std::any_of(truth.begin(), truth.end(), [](const Capture& capture) {
    return std::any_of(capture.entries().begin(), capture.entries().end(), [](const CaptureEntry& entry) {
      return verify::ElementFromName(entry.dtype) == verify::Element::kF64;
    });
  });
  if (any_double) return truth;
  return absl::InvalidArgumentError(
      StrCat(work.recipe->path, ": \"truth.capture\" is ", work.recipe->truth,
             ", which holds no tensor in double; a truth is the same run in double"));
}

}  // namespace

Status CheckCaptureOperators(Work& work) {
  PLINTH_ASSIGN_OR_RETURN(const std::vector<Capture> truth, OpenTruth(work));
  verify::replay::ReplayOptions options;
  options.interrupted = work.interrupted;
  options.command = StrCat(work.program, " replay ", verify::ShellQuoted(work.recipe->candidate.captures[0]),
                           " --incumbent ", verify::ShellQuoted(work.recipe->incumbent.captures[0]));
  AcceptanceView::Table table{
      Message::kTableOperators,
      {Message::kColumnName, Message::kColumnOperator, Message::kColumnStatus, Message::kColumnWorstShare},
      {},
      {}};
  std::string first_bad;
  const auto sink = [&](const verify::CheckRow& row) {
    Record record;
    record.name = row.case_name;
    record.status = row.status;
    record.measured = row.worst_share;
    record.limit = 1;
    record.detail = row.detail;
    record.reproduce = row.reproduce;
    if (row.status == CheckStatus::kFailed || row.status == CheckStatus::kMissing) {
      table.marked.push_back(static_cast<int>(table.rows.size()));
      if (first_bad.empty()) first_bad = OneLine(row);
    }
    table.rows.push_back(
        {row.case_name, row.op, std::string(verify::StatusName(row.status)), Short(100 * row.worst_share)});
    work.Add(Ask::kOperators, std::move(record));
  };
  // A run in double has inputs of its own and says nothing about operators; what a user's references computed
  // from the candidate's inputs does.
  const bool of_inputs = !truth.empty() && verify::replay::ComputedFromInputs(truth[0]);
  work.Tell("operators: replay");
  verify::Summary all;
  for (size_t rank = 0; rank < work.subject->candidate[0].size(); ++rank) {
    const auto& incumbent = work.subject->incumbent[0];
    PLINTH_ASSIGN_OR_RETURN(
        const verify::Summary summary,
        verify::replay::Replay(*work.context, work.subject->candidate[0][rank],
                               rank < incumbent.size() ? &incumbent[rank] : nullptr,
                               of_inputs && rank < truth.size() ? &truth[rank] : nullptr, options, sink));
    all.Add(summary);
  }
  const int64_t seen = static_cast<int64_t>(table.rows.size());
  if (!first_bad.empty()) {
    work.SayWrong(Ask::kOperators, Message::kOperatorsFailed, {StrCat(all.failed), StrCat(seen), first_bad});
  }
  work.Say(Ask::kOperators, Message::kOperatorsReplayed,
           {StrCat(seen), StrCat(all.passed), StrCat(all.failed), StrCat(all.unproven)});
  work.view.tables.push_back(std::move(table));
  return absl::OkStatus();
}

Status CheckCaptureLayers(Work& work) {
  PLINTH_ASSIGN_OR_RETURN(const std::vector<Capture> truth, OpenTruth(work));
  const verify::Waivers& waivers = work.subject->waivers;
  for (const std::string& note : waivers.notes)
    work.Say(Ask::kLayers, Message::kTaskUndecided, {"waiver", note});
  if (!SameRanks(work)) return absl::OkStatus();
  int64_t passed = 0, warned = 0, failed = 0, open = 0;
  std::set<int> unproven;
  for (size_t rank = 0; rank < work.subject->incumbent[0].size(); ++rank) {
    work.Tell(StrCat("layers: rank ", rank));
    RankJudge judge(work, rank, rank < truth.size() ? &truth[rank] : nullptr);
    PLINTH_RETURN_IF_ERROR(judge.Run());
    passed += judge.passed, warned += judge.warned, failed += judge.failed, open += judge.open;
    unproven.insert(judge.unproven.begin(), judge.unproven.end());
    if (!judge.first_bad.empty() && work.view.first_drift.empty()) {
      work.view.first_drift = judge.first_bad;
      work.SayWrong(Ask::kLayers, Message::kCapturesDrift,
                    {judge.first_bad, Short(judge.first_error), judge.first_reason});
    }
  }
  if (passed + warned + failed + open == 0) {
    Record record;
    record.name = "layers";
    record.status = CheckStatus::kFailed;
    record.detail = "nothing was compared: no tensor is recorded in full on both sides";
    work.Add(Ask::kLayers, std::move(record));
  }
  work.Say(Ask::kLayers, Message::kRulesCounted,
           {StrCat(passed + warned + failed + open), StrCat(passed), StrCat(warned), StrCat(failed),
            StrCat(open)});
  constexpr Message kUnproven[] = {Message::kRule2Unproven, Message::kRule3Unproven, Message::kRule4Unproven};
  for (const int rule : unproven) {
    if (rule < 2 || rule > 4) continue;
    const Phrase phrase{kUnproven[rule - 2], {}};
    work.at(Ask::kLayers).reasons.push_back(phrase);
    work.view.limits.push_back(phrase);
  }
  return absl::OkStatus();
}

Status CheckCaptureRepeats(Work& work) {
  const Repeats& candidates = work.subject->candidate;
  Record record;
  record.name = "repeats";
  if (candidates.size() < 2) {
    record.status = CheckStatus::kUnproven;
    record.detail = "one capture of the candidate; name repeats of the same run under [candidate] captures";
    work.Add(Ask::kRepeatability, std::move(record));
    return absl::OkStatus();
  }
  double worst = 0;
  std::string name;
  bool bitwise = true;
  for (size_t rank = 0; rank < candidates[0].size(); ++rank) {
    PLINTH_ASSIGN_OR_RETURN(const auto own, BandOf(work, candidates, rank));
    PLINTH_ASSIGN_OR_RETURN(const auto incumbent, BandOf(work, work.subject->incumbent, rank));
    for (const auto& [key, band] : own->tensors) {
      bitwise = bitwise && band.bitwise;
      const verify::TensorBand* theirs = incumbent.has_value() ? incumbent->Find(key) : nullptr;
      if (band.bitwise || theirs == nullptr) continue;
      const double share = band.rel_l2 / (work.subject->rules.noise_factor * theirs->rel_l2);
      if (!(share <= worst)) worst = share, name = key;
    }
  }
  record.measured = worst;
  record.limit = 1;
  if (bitwise) {
    record.status = CheckStatus::kPassed;
    record.detail = "all repeats hold the same bits";
    work.Say(Ask::kRepeatability, Message::kCapturesSame, {StrCat(candidates.size())});
  } else {
    record.status = work.subject->incumbent.size() < 2 ? CheckStatus::kUnproven
                    : worst <= 1                       ? CheckStatus::kPassed
                                                       : CheckStatus::kWarned;
    record.detail = StrCat("spread of the repeats, as a share of what the incumbent's own repeats allow",
                           name.empty() ? "" : StrCat("; largest at ", name));
    work.Say(Ask::kRepeatability, Message::kRepeatsInBand,
             {StrCat(candidates.size()),
              Short(100 * verify::ExceedChance(static_cast<int64_t>(candidates.size())))});
  }
  work.Add(Ask::kRepeatability, std::move(record));
  return absl::OkStatus();
}

}  // namespace plinth::accept
