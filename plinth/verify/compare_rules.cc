#include "plinth/verify/compare_rules.h"

#include <algorithm>
#include <array>

#include "plinth/base/files.h"
#include "plinth/base/text.h"
#include "plinth/verify/compare_sources.h"

namespace plinth::verify {
namespace {

constexpr int64_t kMaxBandJson = 256 << 20;

StatusOr<RuleSet> LoadRules(const std::string& path) {
  return path.empty() || path == "builtin" ? RuleSet::Builtin() : RuleSet::Load(path);
}

// The runs of each rank; tensors of which only statistics were recorded are left out.
std::map<int64_t, std::vector<BandRun>> RunsOf(const TensorSource& source) {
  std::map<int64_t, std::vector<BandRun>> runs;
  for (const SourcePart& part : source.parts()) {
    BandRun run{.source = "repeat", .tensors = {}};
    for (const SourceTensor& t : part.tensors) {
      if (t.tensor != nullptr) run.tensors.emplace_back(t.name + t.suffix, *t.tensor);
    }
    runs[part.rank].push_back(std::move(run));
  }
  return runs;
}

StatusOr<std::map<int64_t, Band>> MeasureBands(const std::string& path, const TensorSource* same,
                                               Threads* threads) {
  PLINTH_ASSIGN_OR_RETURN(const TensorSource source, TensorSource::Open(path));
  if (!source.is_capture()) {
    return absl::InvalidArgumentError(
        StrCat(path,
               ": holds no captures; a folder with repeats of the incumbent's run, or a band.json, is "
               "expected"));
  }
  if (same != nullptr) PLINTH_RETURN_IF_ERROR(CheckSameOrigin(*same, source));
  std::map<int64_t, Band> bands;
  for (const auto& [rank, runs] : RunsOf(source)) {
    auto band = MakeBand(runs, threads);
    if (!band.ok()) return absl::InvalidArgumentError(StrCat(path, ": ", band.status().message()));
    bands.emplace(rank, *std::move(band));
  }
  return bands;
}

// Every requirement starts as unproven: it may speak of nothing that is there.
std::vector<RequirementResult> Unmet(const Requirements& requirements) {
  const std::vector<RequirementResult> tasks = CheckTaskRequirements(requirements, {});
  std::vector<RequirementResult> all;
  for (const Requirement& r : requirements.records) {
    const auto task =
        std::find_if(tasks.begin(), tasks.end(), [&](const auto& t) { return t.name == r.name; });
    all.push_back(task != tasks.end()
                      ? *task
                      : RequirementResult{r.name, "unproven", "it speaks of no tensor that was compared"});
  }
  return all;
}

}  // namespace

std::string_view RowVerdict::word() const {
  return verdict.verdict == Verdict::kPass && !verdict.judged() ? "unproven" : VerdictName(verdict.verdict);
}

StatusOr<RuleJudge> RuleJudge::Open(const RuleOptions& options, const TensorSource* same, Threads* threads) {
  PLINTH_ASSIGN_OR_RETURN(RuleSet rules, LoadRules(options.rules));
  RuleJudge judge(std::move(rules));
  judge.terms_ = options.terms;
  RuleSummary& summary = judge.summary_;
  summary.rules = options.rules.empty() ? "builtin" : options.rules;
  summary.digest = judge.rules_.digest();
  if (!options.waivers.empty()) {
    PLINTH_ASSIGN_OR_RETURN(judge.waivers_, LoadWaivers(options.waivers, options.today));
    summary.notes = judge.waivers_.notes;
  }
  if (!options.requirements.empty()) {
    PLINTH_ASSIGN_OR_RETURN(judge.requirements_, LoadRequirements(options.requirements));
    summary.requirements = Unmet(judge.requirements_);
  }
  PLINTH_RETURN_IF_ERROR(judge.LoadBands(options, same, threads));
  summary.missed = SelfTest(judge.rules_);
  return judge;
}

Status RuleJudge::LoadBands(const RuleOptions& options, const TensorSource* same, Threads* threads) {
  if (options.band.empty()) {
    if (options.write_band.empty()) return absl::OkStatus();
    return absl::InvalidArgumentError("--write-band needs repeats of the incumbent's run: --band FOLDER");
  }
  if (IsFolder(options.band)) {
    PLINTH_ASSIGN_OR_RETURN(bands_, MeasureBands(options.band, same, threads));
  } else {
    PLINTH_ASSIGN_OR_RETURN(const std::string text, ReadFile(options.band, kMaxBandJson));
    PLINTH_ASSIGN_OR_RETURN(bands_[0], ParseBand(text, options.band));
  }
  int64_t fewest = bands_.begin()->second.runs;
  for (const auto& [rank, band] : bands_) fewest = std::min(fewest, band.runs);
  summary_.band = CoverageText(fewest);
  if (options.write_band.empty()) return absl::OkStatus();
  if (bands_.size() > 1) {
    return absl::InvalidArgumentError(StrCat("--write-band: ", options.band, " holds ", bands_.size(),
                                             " ranks; captures of one rank are expected"));
  }
  write_band_ = options.write_band;
  return absl::OkStatus();
}

Status RuleJudge::WriteBand() const {
  if (write_band_.empty()) return absl::OkStatus();
  return WriteFile(write_band_, ToJson(bands_.begin()->second) + "\n");
}

const TensorBand* RuleJudge::Band(int64_t rank, std::string_view key) const {
  if (bands_.empty()) return nullptr;
  const auto at = bands_.size() == 1 ? bands_.begin() : bands_.find(rank);
  return at == bands_.end() ? nullptr : at->second.Find(key);
}

bool RuleJudge::IdenticalRanks(std::string_view op, std::string_view class_name) const {
  const RuleClass* rule_class = class_name.empty() ? &rules_.ClassOf(op) : rules_.Find(class_name);
  return rule_class != nullptr && rule_class->identical_ranks;
}

StatusOr<RowVerdict> RuleJudge::Judge(const RowToJudge& row) const {
  TensorsToJudge tensors = row.tensors;
  tensors.cap.terms = terms_;
  RowVerdict out;
  PLINTH_ASSIGN_OR_RETURN(JudgedTensor judged, JudgeTensors(rules_, tensors));
  out.verdict = std::move(judged.verdict);
  RuleResult& noise = out.verdict.rules[3];
  const bool no_band = tensors.band == nullptr && tensors.incumbent.has_value();
  if (noise.state == RuleState::kUnproven && no_band && !bands_.empty())
    noise.detail = "the band does not hold this tensor, or this part of it";
  ApplyWaivers(waivers_, row.name, &out.verdict);
  if (tensors.candidate.has_value() && row.required.size() == tensors.candidate->size()) {
    PLINTH_ASSIGN_OR_RETURN(out.requirements, CheckRequirements(requirements_, row.name, row.required,
                                                                *tensors.candidate, tensors.threads));
  }
  return out;
}

RowVerdict RuleJudge::Broken(const std::string& what, std::string_view kind) const {
  RowVerdict out = Unmeasured(what, true);
  out.verdict.rules[0].state = RuleState::kBroken;
  out.verdict.reason = StrCat("rule 1: ", what);
  out.verdict.fault_kind = kind;
  for (size_t i = 1; i < 4; ++i) out.verdict.rules[i].detail = "the structure is broken";
  return out;
}

RowVerdict RuleJudge::Unmeasured(const std::string& why, bool failed) const {
  RowVerdict out;
  out.verdict.verdict = failed ? Verdict::kFail : Verdict::kPass;
  out.verdict.reason = failed ? why : "unproven: 1, 2, 3, 4";
  for (size_t i = 0; i < 4; ++i) {
    out.verdict.rules[i].number = static_cast<int>(i) + 1;
    out.verdict.rules[i].detail = why;
  }
  return out;
}

void RuleJudge::Count(const RowVerdict& row, const std::string& label) {
  const std::array<TensorVerdict, 2> both = {summary_.worst, row.verdict};
  const std::array<std::string, 2> labels = {summary_.worst.from, label};
  const size_t skip = counted_ ? 0 : 1;
  summary_.worst = Worst(std::span(both).subspan(skip), std::span(labels).subspan(skip));
  counted_ = true;
  summary_.waived += row.verdict.waiver.empty() ? 0 : 1;
  for (const int rule : row.verdict.Unproven()) {
    auto& list = summary_.unproven;
    if (const auto at = std::lower_bound(list.begin(), list.end(), rule); at == list.end() || *at != rule)
      list.insert(at, rule);
  }
  for (const RequirementResult& result : row.requirements) {
    for (RequirementResult& all : summary_.requirements) {
      if (all.name != result.name || all.status == "failed") continue;
      // The first failure explains; else what was measured last says no more than the rows do.
      all.status = result.status == "unproven" ? all.status : result.status;
      all.detail = result.status == "failed" ? StrCat(label, ": ", result.detail)
                                             : "held by every tensor that it speaks of";
    }
  }
}

}  // namespace plinth::verify
