// Layer three: the whole network, value by value, beside its reference in double.
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "plinth/accept/steps.h"
#include "plinth/base/digest.h"
#include "plinth/base/files.h"
#include "plinth/base/text.h"
#include "plinth/engine/capture_job.h"
#include "plinth/verify/locate.h"
#include "plinth/verify/model_check.h"
#include "plinth/verify/reference_capture.h"
#include "plinth/verify/rules.h"
#include "plinth/verify/waivers.h"

namespace plinth::accept {
namespace {

using formats::Capture;
using formats::CaptureEntry;
using verify::CheckStatus;

// Series whose layers are compared; all windows take part in the task.
constexpr size_t kMostSeries = 6;

// Captures of one network over the same series.
class Recordings {
 public:
  explicit Recordings(Work& work) : work_(work) {
    const Inputs& inputs = work.subject->inputs;
    for (size_t i = 0; i < std::min(kMostSeries, inputs.windows.size()); ++i) {
      series_.emplace_back(inputs.windows[i].context);
    }
    for (const auto& past : series_) groups_.push_back({{{past, {}}}, 1});
    const models::ModelInfo& info = work.session->model().info();
    steps_ = std::min((inputs.horizon + info.stride - 1) / info.stride * info.stride, info.horizon);
    info_.run_id = "accept";
    info_.model_name = work.subject->model_name;
    info_.model_digest = *work.subject->identity.Find("model");
    info_.inputs_digest = inputs.digest;
  }

  StatusOr<Capture> Reference() {
    PLINTH_ASSIGN_OR_RETURN(const auto network,
                            verify::ReferenceNetwork::Make(*work_.session, /*grouped=*/false));
    const std::string folder = JoinPath(work_.folder, "layers-reference");
    PLINTH_RETURN_IF_ERROR(
        verify::WriteReferenceCapture(network, *work_.session, series_, steps_, folder, info_));
    return Capture::Open(folder);
  }

  // The plan of the published network as it computes here; what `options` says is put in place on the way.
  Status Record(const std::string& folder, engine::RecordOptions options) {
    engine::CaptureJob job;
    job.record = std::move(options);
    job.record.records = {{.name = "*", .full = true}};
    job.run_id = info_.run_id;
    job.model_digest = info_.model_digest;
    job.inputs_digest = info_.inputs_digest;
    const engine::ForecastRequest request{steps_, 0, work_.session->model().info().levels};
    return engine::WriteCapture(*work_.session, groups_, request, job, folder);
  }

 private:
  Work& work_;
  std::vector<std::span<const double>> series_;
  std::vector<engine::Group> groups_;
  int64_t steps_ = 0;
  formats::CaptureInfo info_;
};

// One layer of the candidate beside the reference.
struct Layer {
  std::string name, op;
  verify::TensorVerdict verdict;
  double free = std::nan("");
};

struct Comparison {
  std::vector<Layer> layers;
  std::vector<std::string> missing;  // the reference has them, the candidate has not
  std::vector<std::pair<std::string, verify::RequirementResult>> requirements;  // by layer
};

// Every module output that both have, in the order of execution.
StatusOr<Comparison> Compare(const Work& work, const verify::RuleSet& rules, const Capture& reference,
                             const Capture& candidate) {
  Comparison result;
  for (const CaptureEntry& entry : reference.entries()) {
    if (entry.direction != formats::CaptureDirection::kOutput) continue;
    const CaptureEntry* ours = candidate.Find(entry.Key());
    const formats::ConstTensorRef* truth = reference.Tensor(entry);
    const formats::ConstTensorRef* tensor = ours == nullptr ? nullptr : candidate.Tensor(*ours);
    if (truth == nullptr) continue;
    if (tensor == nullptr) {
      result.missing.push_back(entry.name);
      continue;
    }
    verify::TensorsToJudge judged;
    judged.candidate = *tensor;
    judged.truth = *truth;
    judged.threads = work.context->threads;
    // A layer is the sum of many operators, whatever its last one is: the row of composites.
    judged.class_name = rules.default_class;
    PLINTH_ASSIGN_OR_RETURN(const verify::JudgedTensor verdict, verify::JudgeTensors(rules, judged));
    if (!work.subject->requirements.records.empty() && tensor->size() == truth->size()) {
      PLINTH_ASSIGN_OR_RETURN(
          const auto lines, verify::CheckRequirements(work.subject->requirements, entry.name, *truth, *tensor,
                                                      work.context->threads));
      for (const verify::RequirementResult& line : lines) result.requirements.emplace_back(entry.name, line);
    }
    Layer layer{entry.name, entry.op, verdict.verdict};
    if (verdict.truth.has_value()) layer.free = verdict.truth->rel_l2;
    verify::ApplyWaivers(work.subject->waivers, entry.name, &layer.verdict);
    result.layers.push_back(std::move(layer));
  }
  return result;
}

CheckStatus StatusOf(const verify::TensorVerdict& verdict) {
  switch (verdict.verdict) {
    case verify::Verdict::kPass:
      return verdict.judged() ? CheckStatus::kPassed : CheckStatus::kUnproven;
    case verify::Verdict::kWarn:
      return CheckStatus::kWarned;
    case verify::Verdict::kFail:
      break;
  }
  return CheckStatus::kFailed;
}

// What the search found: the first layer that is wrong, and whether putting the reference back there helps.
void ReportDrift(Work& work, const verify::LocateResult& located) {
  const auto number = [](const std::optional<double>& x) { return x.value_or(std::nan("")); };
  if (!located.first_drift.has_value()) return;
  const verify::FirstDrift& first = *located.first_drift;
  work.view.first_drift = first.name;
  work.SayWrong(Ask::kLayers, Message::kLayersDrift,
                {first.name, Short(number(first.free)), Short(number(first.local)), Short(first.limit)});
  if (located.confirmation == verify::Confirmation::kRepaired) {
    work.Say(Ask::kLayers, Message::kLayersRepaired, {first.name});
  } else if (located.confirmation == verify::Confirmation::kNotRepaired) {
    work.Say(Ask::kLayers, Message::kLayersNotRepaired, {first.name});
  }
  Record record;
  record.name = StrCat("first drift: ", first.name);
  record.status = CheckStatus::kFailed;
  record.measured = number(first.free);
  record.limit = first.limit;
  record.detail = StrCat("relative L2 error, ", Short(number(first.local)), " of it arises there",
                         located.confirmation_text.empty() ? "" : StrCat("; ", located.confirmation_text));
  work.Add(Ask::kLayers, std::move(record));
}

void Report(Work& work, const Comparison& comparison, const std::map<std::string, double>& local,
            double limit) {
  AcceptanceView::Table table{Message::kTableLayers,
                              {Message::kColumnName, Message::kColumnOperator, Message::kColumnStatus,
                               Message::kColumnFree, Message::kColumnLocal},
                              {},
                              {}};
  const Layer* worst = nullptr;
  for (const Layer& layer : comparison.layers) {
    Record record;
    record.name = layer.name;
    record.status = StatusOf(layer.verdict);
    record.measured = layer.free;
    record.limit = limit;
    const auto own = local.find(layer.name);
    const std::string arising = Short(own == local.end() ? std::nan("") : own->second);
    record.detail =
        StrCat("relative L2 error; ", arising, " of it arises there; ", verify::ToText(layer.verdict),
               layer.verdict.reason.empty() ? "" : StrCat(": ", layer.verdict.reason));
    if (record.status == CheckStatus::kFailed) table.marked.push_back(static_cast<int>(table.rows.size()));
    table.rows.push_back(
        {layer.name, layer.op, std::string(verify::StatusName(record.status)), Short(layer.free), arising});
    work.view.drift.push_back(
        {layer.name, layer.op, layer.free, own == local.end() ? std::nan("") : own->second});
    work.Add(Ask::kLayers, std::move(record));
    if (worst == nullptr || !(layer.free <= worst->free)) worst = &layer;
  }
  for (const std::string& name : comparison.missing) {
    Record record;
    record.name = name;
    record.status = CheckStatus::kMissing;
    record.detail = "the reference has this layer, the plan has not";
    work.Add(Ask::kLayers, std::move(record));
  }
  for (const auto& [name, line] : comparison.requirements) AddRequirement(work, Ask::kLayers, line, name);
  work.view.tables.push_back(std::move(table));
  work.view.drift_limit = limit;
  if (work.at(Ask::kLayers).answer != AcceptanceView::Answer::kNo && worst != nullptr) {
    work.Say(Ask::kLayers, Message::kLayersAgree,
             {StrCat(comparison.layers.size()), Short(worst->free), worst->name, Short(limit)});
  }
}

// Golden cases of the original implementation, where the recipe names them.
Status CheckCases(Work& work) {
  if (work.recipe->cases.empty()) return absl::OkStatus();
  work.Tell("layers: golden cases");
  verify::ModelOptions options;
  options.folder = work.recipe->model;
  options.cases_file = work.recipe->cases;
  options.program = work.program;
  options.interrupted = work.interrupted;
  std::string first_bad;
  const auto sink = [&](const verify::CheckRow& row) {
    if (row.status == CheckStatus::kFailed && first_bad.empty()) first_bad = OneLine(row);
    Record record;
    record.name = StrCat("golden ", row.case_name, " ", row.output, " ", row.mode);
    record.status = row.status;
    record.measured = row.worst_share;
    record.limit = 1;
    record.detail = row.detail;
    record.reproduce = row.reproduce;
    work.Add(Ask::kLayers, std::move(record));
  };
  PLINTH_ASSIGN_OR_RETURN(const verify::Summary summary, verify::VerifyModel(*work.context, options, sink));
  if (summary.good()) {
    work.Say(Ask::kLayers, Message::kCasesPassed, {StrCat(summary.passed)});
  } else {
    work.SayWrong(Ask::kLayers, Message::kOperatorsFailed,
                  {StrCat(summary.failed), StrCat(summary.passed + summary.failed), first_bad});
  }
  work.reference.push_back({"golden cases", "", ""});
  PLINTH_ASSIGN_OR_RETURN(work.reference.back().sha256, Sha256OfFile(work.recipe->cases));
  return absl::OkStatus();
}

}  // namespace

Status CheckModelLayers(Work& work) {
  PLINTH_RETURN_IF_ERROR(CheckCases(work));
  PLINTH_RETURN_IF_ERROR(work.CheckInterrupted());
  const verify::RuleSet& rules = work.subject->rules;
  const double limit = rules.Find(rules.default_class)->limit(verify::NumberType::kF32).fixed;
  Recordings recordings(work);
  work.Tell("layers: the network in double");
  PLINTH_ASSIGN_OR_RETURN(const Capture reference, recordings.Reference());
  work.Tell("layers: the network as it runs here");
  const std::string candidates = JoinPath(work.folder, "candidate");
  if (mkdir(candidates.c_str(), 0777) != 0) return FileError(candidates, "made", errno);
  PLINTH_RETURN_IF_ERROR(recordings.Record(JoinPath(candidates, "free"), {}));
  PLINTH_RETURN_IF_ERROR(recordings.Record(JoinPath(candidates, "forced"), {.forced_by = &reference}));
  PLINTH_ASSIGN_OR_RETURN(const Capture candidate, Capture::Open(JoinPath(candidates, "free")));
  PLINTH_ASSIGN_OR_RETURN(const Capture forced, Capture::Open(JoinPath(candidates, "forced")));
  PLINTH_ASSIGN_OR_RETURN(const Comparison comparison, Compare(work, rules, reference, candidate));
  PLINTH_ASSIGN_OR_RETURN(const Comparison alone, Compare(work, rules, reference, forced));
  std::map<std::string, double> local;
  for (const Layer& layer : alone.layers) local.emplace(layer.name, layer.free);
  work.Tell("layers: first drift");
  verify::LocateOptions locate;
  locate.reference = reference.folder();
  locate.output = candidates;
  locate.rerun = [&](const verify::Rerun& rerun, const std::string& folder) {
    engine::RecordOptions options{.forced_by = rerun.forced_by};
    if (!rerun.replaced.empty()) options.replaced = {{rerun.replaced, rerun.reference}};
    return recordings.Record(folder, std::move(options));
  };
  PLINTH_ASSIGN_OR_RETURN(const verify::LocateResult located, verify::Locate(locate));
  ReportDrift(work, located);
  if (comparison.layers.empty()) {
    Record record;
    record.name = "layers";
    record.status = CheckStatus::kFailed;
    record.detail = "nothing was compared";
    work.Add(Ask::kLayers, std::move(record));
  }
  Report(work, comparison, local, limit);
  work.reference.push_back({"network in double", *work.subject->identity.Find("graph"), ""});
  return absl::OkStatus();
}

}  // namespace plinth::accept
