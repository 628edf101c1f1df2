#include "plinth/verify/metrics/metrics.h"

#include <algorithm>

#include "plinth/base/interrupt.h"
#include "plinth/verify/metrics/judgement.h"
#include "plinth/verify/metrics/required.h"
#include "plinth/verify/metrics/sample_output.h"

namespace plinth::verify::metrics {
namespace {

struct TaskEntry {
  const char* name;
  StatusOr<std::unique_ptr<Task>> (*make)(const MetricsOptions&);
};
constexpr TaskEntry kTasks[] = {{"logits", MakeLogitsTask},        {"classification", MakeClassificationTask},
                                {"detection", MakeDetectionTask},  {"asr", MakeAsrTask},
                                {"retrieval", MakeRetrievalTask},  {"forecasting", MakeForecastingTask},
                                {"generation", MakeGenerationTask}};

StatusOr<std::unique_ptr<Task>> MakeTask(const MetricsOptions& options) {
  for (const TaskEntry& entry : kTasks) {
    if (options.task == entry.name) return entry.make(options);
  }
  return absl::InvalidArgumentError(StrCat("task ", formats::QuotedShort(options.task),
                                           " is unknown; there are ", Join(TaskNames(), ", ")));
}

StatusOr<Bands> AllBands(const MetricsOptions& options, MetricsResult* result) {
  Bands bands;
  if (!options.bands_file.empty()) {
    PLINTH_ASSIGN_OR_RETURN(result->bands_digest, LoadBands(options.bands_file, &bands));
  }
  for (const std::string& text : options.bands) {
    PLINTH_ASSIGN_OR_RETURN(auto band, ParseBand(text));
    if (!bands.insert(band).second) {
      return absl::InvalidArgumentError(
          StrCat("the band of ", formats::QuotedShort(band.first), " is declared twice; once is expected"));
    }
  }
  return bands;
}

// The values of every metric over some samples alone.
std::vector<GroupRow::Score> ScoresOf(const Task& task, std::span<const uint32_t> counts) {
  std::vector<GroupRow::Score> scores;
  for (const SampleMetric& m : task.metrics) {
    const double reference = m.Value(false, counts), candidate = m.Value(true, counts);
    scores.push_back({m.name, reference, candidate, candidate - reference});
  }
  for (const auto& joint : task.joint) {
    std::vector<double> reference(joint->names().size()), candidate(reference.size());
    joint->Evaluate(false, counts, reference);
    joint->Evaluate(true, counts, candidate);
    for (size_t i = 0; i < reference.size(); ++i) {
      scores.push_back({joint->names()[i].name, reference[i], candidate[i], candidate[i] - reference[i]});
    }
  }
  return scores;
}

void ScoreGroups(const Task& task, const RequiredList& required, MetricsResult* result) {
  result->groups = required.Rows();
  for (size_t g = 0; g < required.size(); ++g) {
    if (required.members(g).empty()) continue;
    std::vector<uint32_t> counts(static_cast<size_t>(result->samples), 0);
    for (const size_t i : required.members(g)) counts[i] = 1;
    result->groups[g].scores = ScoresOf(task, counts);
  }
}

Status CheckOptions(const MetricsOptions& options) {
  if (options.resamples < 100 || options.resamples > 100'000) {
    return absl::InvalidArgumentError(
        StrCat("--resamples ", options.resamples, ": 100 to 100000 is expected"));
  }
  for (const double t : options.thresholds) {
    if (!(t >= 0 && t <= 1)) {
      return absl::InvalidArgumentError(StrCat("--threshold ", t, ": a score from 0 to 1 is expected"));
    }
  }
  if (options.season < 1) {
    return absl::InvalidArgumentError(StrCat("--season ", options.season, ": at least 1 is expected"));
  }
  return absl::OkStatus();
}

}  // namespace

const std::vector<std::string>& TaskNames() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const TaskEntry& entry : kTasks) all.emplace_back(entry.name);
    return all;
  }();
  return names;
}

StatusOr<MetricsResult> RunMetrics(const MetricsOptions& options) {
  MetricsResult result{.task = options.task, .seed = options.seed};
  PLINTH_RETURN_IF_ERROR(CheckOptions(options));
  PLINTH_ASSIGN_OR_RETURN(const Bands bands, AllBands(options, &result));
  PLINTH_ASSIGN_OR_RETURN(const std::unique_ptr<Task> task, MakeTask(options));
  RequiredList required;
  if (!options.required_file.empty()) {
    PLINTH_ASSIGN_OR_RETURN(required, RequiredList::Load(options.required_file));
  }
  std::vector<std::string> ids;
  PLINTH_ASSIGN_OR_RETURN(const SampleDigests digests,
                          ForEachSample(options.reference, options.candidate, options.labels,
                                        [&](const Sample& sample) -> Status {
                                          if (options.interrupted && options.interrupted())
                                            return absl::CancelledError("interrupted");
                                          ++result.samples;
                                          required.Note(sample);
                                          if (!options.samples_file.empty()) {
                                            if (ids.size() <= sample.index) ids.resize(sample.index + 1);
                                            ids[sample.index] = sample.id;
                                          }
                                          return task->Add(sample);
                                        }));
  PLINTH_RETURN_IF_ERROR(task->Finish());
  result.reference_digest = digests.reference;
  result.candidate_digest = digests.candidate;
  result.labels_digest = digests.labels;
  result.required_digest = required.digest();
  result.rules_digest = task->rules_digest;
  result.rules_name = task->rules_name;
  PLINTH_ASSIGN_OR_RETURN(result.rows, JudgeMetrics(*task, result.samples, bands, options));
  result.agreement = task->metrics[0].Value(true, {});
  ScoreGroups(*task, required, &result);
  result.details = task->Details();
  if (!options.samples_file.empty()) {
    PLINTH_RETURN_IF_ERROR(WriteSamples(options.samples_file, *task, ids));
  }
  return result;
}

int64_t MetricsResult::Count(CheckStatus status) const {
  return std::count_if(rows.begin(), rows.end(), [&](const MetricRow& r) { return r.status == status; }) +
         std::count_if(groups.begin(), groups.end(), [&](const GroupRow& g) { return g.status == status; });
}

std::string_view MetricsResult::verdict() const {
  if (Count(CheckStatus::kFailed) + Count(CheckStatus::kMissing) > 0) return "fail";
  if (Count(CheckStatus::kWarned) > 0) return "warn";
  const bool banded =
      std::any_of(rows.begin(), rows.end(), [](const MetricRow& r) { return r.band.has_value(); });
  return banded ? "pass" : "unproven";
}

}  // namespace plinth::verify::metrics
