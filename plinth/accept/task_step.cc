// Layer four: whether the task's quality is unchanged.
#include <algorithm>
#include <cmath>
#include <span>

#include "plinth/accept/steps.h"
#include "plinth/base/files.h"
#include "plinth/base/text.h"
#include "plinth/formats/json_writer.h"
#include "plinth/series/quantiles.h"
#include "plinth/verify/metrics/metrics.h"
#include "plinth/verify/reference_network.h"

namespace plinth::accept {
namespace {

using engine::Forecast;
using verify::CheckStatus;
using verify::metrics::MetricRow;

std::string ForecastLines(const Inputs& inputs, const std::vector<Forecast>& forecasts,
                          const std::vector<double>& levels) {
  std::string out;
  formats::JsonWriter w(&out);
  for (size_t i = 0; i < forecasts.size(); ++i) {
    w.BeginObject();
    w.Key("id"), w.String(StrCat(i));
    w.Key("quantiles"), w.BeginObject();
    for (size_t q = 0; q < levels.size(); ++q) {
      w.Key(series::QuantileName(levels[q])), w.BeginArray();
      for (int64_t h = 0; h < inputs.horizon; ++h) {
        w.Number(forecasts[i].values[static_cast<size_t>(h) * levels.size() + q]);
      }
      w.EndArray();
    }
    w.EndObject();
    w.EndObject();
    w.EndLine();
  }
  return out;
}

std::string TruthLines(const Inputs& inputs) {
  std::string out;
  formats::JsonWriter w(&out);
  const auto numbers = [&](const char* key, const std::vector<double>& values) {
    w.Key(key), w.BeginArray();
    for (const double x : values) w.Number(x);
    w.EndArray();
  };
  for (size_t i = 0; i < inputs.windows.size(); ++i) {
    w.BeginObject();
    w.Key("id"), w.String(StrCat(i));
    numbers("truth", inputs.windows[i].truth);
    numbers("context", inputs.windows[i].context);
    w.EndObject();
    w.EndLine();
  }
  return out;
}

// Forecasts of the model as it runs here, and of its network in double.
Status WriteForecasts(Work& work, verify::metrics::MetricsOptions* options) {
  const Inputs& inputs = work.subject->inputs;
  const engine::ForecastRequest request{inputs.horizon, 0, series::Deciles()};
  std::vector<std::span<const double>> contexts;
  std::vector<models::Row> rows;
  for (const Inputs::Window& window : inputs.windows) contexts.emplace_back(window.context);
  std::vector<engine::Group> groups;
  for (const auto& context : contexts) groups.push_back({{{context, {}}}, 1});
  work.Tell("task: forecasts");
  PLINTH_ASSIGN_OR_RETURN(const std::vector<Forecast> candidate, work.session->Run(contexts, request));
  work.Tell("task: the same in double");
  PLINTH_ASSIGN_OR_RETURN(const auto network,
                          verify::ReferenceNetwork::Make(*work.session, /*grouped=*/false));
  PLINTH_ASSIGN_OR_RETURN(const std::vector<Forecast> reference,
                          verify::ReferenceForecast(network, *work.session, groups, request));
  options->reference = JoinPath(work.folder, "task-reference.jsonl");
  options->candidate = JoinPath(work.folder, "task-candidate.jsonl");
  options->labels = JoinPath(work.folder, "task-labels.jsonl");
  PLINTH_RETURN_IF_ERROR(WriteFile(options->reference, ForecastLines(inputs, reference, request.levels)));
  PLINTH_RETURN_IF_ERROR(WriteFile(options->candidate, ForecastLines(inputs, candidate, request.levels)));
  return WriteFile(options->labels, TruthLines(inputs));
}

Record RecordOf(const MetricRow& row) {
  Record record;
  record.name = row.metric;
  record.status = row.status;
  record.aside = !row.band.has_value();
  record.measured = row.difference;
  if (row.band.has_value()) {
    record.limit = row.band->relative ? row.band->amount * std::abs(row.reference) : row.band->amount;
  }
  record.detail = StrCat("candidate ", Short(row.candidate), ", reference ", Short(row.reference),
                         row.band.has_value() ? StrCat(", band ", row.band->text) : ", no band declared",
                         row.reason.empty() ? "" : StrCat("; ", row.reason));
  return record;
}

void Report(Work& work, const verify::metrics::MetricsResult& result) {
  AcceptanceView::Table table{Message::kTableMetrics,
                              {Message::kColumnName, Message::kColumnStatus, Message::kColumnReference,
                               Message::kColumnCandidate, Message::kColumnInterval, Message::kColumnBand},
                              {},
                              {}};
  for (const MetricRow& row : result.rows) {
    if (row.status == CheckStatus::kFailed) table.marked.push_back(static_cast<int>(table.rows.size()));
    table.rows.push_back(
        {row.metric, std::string(verify::StatusName(row.status)), Short(row.reference), Short(row.candidate),
         row.interval.has_value() ? StrCat(Short(row.interval->first), " … ", Short(row.interval->second))
                                  : "-",
         row.band.has_value() ? row.band->text : "-"});
    work.Add(Ask::kTask, RecordOf(row));
    if (!row.band.has_value()) continue;
    if (row.status == CheckStatus::kPassed) {
      work.Say(Ask::kTask, Message::kTaskUnchanged,
               {row.metric, Short(row.candidate), Short(row.reference), row.band->text});
      continue;
    }
    const double worse = row.better == verify::metrics::Better::kHigher ? row.reference - row.candidate
                                                                        : row.candidate - row.reference;
    if (row.status == CheckStatus::kFailed) {
      work.SayWrong(Ask::kTask,
                    worse > 0 || row.better == verify::metrics::Better::kNeither ? Message::kTaskWorse
                                                                                 : Message::kTaskBetter,
                    {row.metric, Short(row.candidate), Short(row.reference), row.band->text});
    } else {
      work.Say(Ask::kTask, Message::kTaskUndecided, {row.metric, row.reason});
    }
  }
  for (const verify::metrics::GroupRow& group : result.groups) {
    Record record;
    record.name = StrCat("samples: ", group.group);
    record.status = group.status;
    record.measured = static_cast<double>(group.present);
    record.limit = static_cast<double>(group.required);
    record.detail = group.reason;
    if (group.status != CheckStatus::kPassed)
      work.SayWrong(Ask::kTask, Message::kRecordFailed, {group.group, group.reason});
    work.Add(Ask::kTask, std::move(record));
  }
  work.view.tables.push_back(std::move(table));
}

}  // namespace

Status CheckTask(Work& work) {
  PLINTH_RETURN_IF_ERROR(work.CheckInterrupted());
  const Recipe::Task& task = work.recipe->task;
  verify::metrics::MetricsOptions options;
  options.task = task.kind;
  options.labels = task.labels;
  options.required_file = task.required;
  options.rules_file = task.rules;
  options.interrupted = work.interrupted;
  options.bands = work.recipe->Bands();
  if (work.session != nullptr) {
    options.season = work.subject->inputs.season;
    PLINTH_RETURN_IF_ERROR(WriteForecasts(work, &options));
  } else {
    options.reference = work.recipe->incumbent.predictions;
    options.candidate = work.recipe->candidate.predictions;
    if (options.reference.empty() || options.candidate.empty()) {
      work.Say(Ask::kTask, Message::kTaskNoData);
      Record record;
      record.name = "task";
      record.status = CheckStatus::kUnproven;
      record.detail = "the recipe names no predictions of incumbent and candidate";
      work.Add(Ask::kTask, std::move(record));
      return absl::OkStatus();
    }
  }
  work.Tell("task: metrics");
  PLINTH_ASSIGN_OR_RETURN(const verify::metrics::MetricsResult result, verify::RunMetrics(options));
  Report(work, result);
  std::vector<std::pair<std::string, double>> values;
  for (const MetricRow& row : result.rows) values.emplace_back(row.metric, row.candidate);
  for (const auto& line : verify::CheckTaskRequirements(work.subject->requirements, values)) {
    AddRequirement(work, Ask::kTask, line, "");
  }
  return absl::OkStatus();
}

}  // namespace plinth::accept
