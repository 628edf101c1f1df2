#include "plinth/engine/capture_job.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <limits>

#include "plinth/base/version.h"

namespace plinth::engine {
namespace {

using formats::JsonValue;

JsonValue Text(std::string_view text) { return JsonValue(std::string(text)); }

formats::CaptureInfo InfoOf(const Session& session, const CaptureJob& job) {
  JsonValue::Object producer = {{"name", Text("plinth")},
                                {"version", Text(kVersion)},
                                {"framework", Text("plinth")},
                                {"device", Text("cpu")},
                                {"isa", Text(IsaName(session.context().isa))},
                                {"threads", JsonValue(int64_t{session.context().threads->count()})},
                                {"graph", Text(job.fused ? "fused" : "published")}};
  JsonValue::Object kernels;
  for (const auto& [op, kernel] : session.options().kernels) kernels.emplace_back(op, Text(kernel));
  if (!kernels.empty()) producer.emplace_back("kernels", JsonValue(std::move(kernels)));
  if (job.record.forced_by != nullptr) {
    producer.emplace_back("forced_by", Text(job.record.forced_by->info().run_id));
  }
  JsonValue::Array replaced;
  for (const auto& [name, capture] : job.record.replaced) replaced.push_back(Text(name));
  if (!replaced.empty()) producer.emplace_back("replaced", JsonValue(std::move(replaced)));
  formats::CaptureInfo info;
  info.producer = JsonValue(std::move(producer));
  info.run_id = job.run_id;
  info.repeat = job.repeat;
  info.seed = job.seed;
  info.forced = job.record.forced_by != nullptr;
  info.model_name = session.name();
  info.model_digest = job.model_digest;
  info.inputs_digest = job.inputs_digest;
  info.precision = JsonValue(JsonValue::Object{{"default", Text("f32")}});
  return info;
}

// One observer, then another.
class Both : public RunObserver {
 public:
  Both(RunObserver& first, RunObserver* second) : first_(first), second_(second) {}
  bool reads_constants() const override { return first_.reads_constants(); }
  Status Begin(int64_t pass, plan::Workspace& workspace) override {
    PLINTH_RETURN_IF_ERROR(first_.Begin(pass, workspace));
    return second_ == nullptr ? absl::OkStatus() : second_->Begin(pass, workspace);
  }
  Status Before(size_t step, plan::Workspace& workspace) override {
    PLINTH_RETURN_IF_ERROR(first_.Before(step, workspace));
    return second_ == nullptr ? absl::OkStatus() : second_->Before(step, workspace);
  }
  Status After(size_t step, plan::Workspace& workspace) override {
    if (second_ != nullptr) PLINTH_RETURN_IF_ERROR(second_->After(step, workspace));
    return first_.After(step, workspace);
  }

 private:
  RunObserver& first_;
  RunObserver* second_;
};

// What another model computed, or this one from other inputs, separates no errors. Digests of inputs are made
// in two ways by two frameworks.
Status CheckReference(const CaptureJob& job) {
  const formats::Capture& reference = *job.record.forced_by;
  const auto differ = [](const std::string& x, const std::string& y) {
    return !x.empty() && !y.empty() && x != y;
  };
  const std::string &model = reference.info().model_digest, &inputs = reference.info().inputs_digest;
  if (differ(model, job.model_digest)) {
    return absl::InvalidArgumentError(StrCat(reference.folder(), ": is of another model, with digest ",
                                             model.substr(0, 16), "...; one of the model that runs, ",
                                             job.model_digest.substr(0, 16), "..., is expected"));
  }
  const JsonValue* framework = reference.info().producer.Find("framework");
  const bool own = framework != nullptr && framework->text() != nullptr && *framework->text() == "plinth";
  if (own && differ(inputs, job.inputs_digest)) {
    return absl::InvalidArgumentError(StrCat(reference.folder(), ": is of other inputs, with digest ",
                                             inputs.substr(0, 16), "...; one of the inputs of this run, ",
                                             job.inputs_digest.substr(0, 16), "..., is expected"));
  }
  return absl::OkStatus();
}

Status AddOutput(const std::vector<Forecast>& forecasts, bool full, formats::CaptureWriter& writer) {
  std::vector<double> values;
  for (const Forecast& f : forecasts) values.insert(values.end(), f.values.begin(), f.values.end());
  const int64_t targets = static_cast<int64_t>(forecasts.size());
  const int64_t horizon = forecasts.empty() ? 0 : forecasts[0].horizon;
  const int64_t all = std::max<int64_t>(targets * horizon, 1);
  const int64_t dims[] = {targets, horizon, static_cast<int64_t>(values.size()) / all};
  formats::CaptureEntry entry;
  entry.name = "output";
  entry.op = "output";
  // The network computes in f32, and so is its forecast judged, as long as it fits.
  const auto fits = [](double x) { return !(std::abs(x) > std::numeric_limits<float>::max()); };
  if (!std::all_of(values.begin(), values.end(), fits)) {
    return writer.Add(std::move(entry), DenseView(values.data(), DType::kF64, dims, 3), full);
  }
  std::vector<float> rounded(values.begin(), values.end());
  return writer.Add(std::move(entry), DenseView(rounded.data(), DType::kF32, dims, 3), full);
}

}  // namespace

Status WriteCapture(Session& session, std::span<const Group> groups, const ForecastRequest& request,
                    const CaptureJob& job, const std::string& folder, StopCheck cancelled,
                    RunObserver* watch) {
  if (job.check_reference && job.record.forced_by != nullptr) PLINTH_RETURN_IF_ERROR(CheckReference(job));
  PLINTH_ASSIGN_OR_RETURN(auto writer, formats::CaptureWriter::Create(folder, InfoOf(session, job)));
  Recorder recorder(job.record, &writer);
  Both observers(recorder, watch);
  PLINTH_ASSIGN_OR_RETURN(const std::vector<Forecast> forecasts,
                          session.RunObserved(groups, request, job.fused, observers, cancelled));
  PLINTH_RETURN_IF_ERROR(recorder.CheckReplaced());
  if (recorder.recorded() == 0 && recorder.replaced() == 0) {
    return absl::InvalidArgumentError(
        StrCat("no value of ", session.name(), " has a name that was asked for (",
               Join(job.record.records, ", ", [](const auto& r) { return formats::QuotedShort(r.name); }),
               "); a capture without --names lists them all"));
  }
  PLINTH_RETURN_IF_ERROR(AddOutput(forecasts, job.full_output, writer));
  if (!job.environment.empty()) writer.SetEnvironment(job.environment);
  return writer.Finish();
}

std::string NewRunId(const Clock& clock) {
  const int64_t now = clock.Wall();
  const time_t seconds = static_cast<time_t>(now / 1'000'000'000);
  tm utc{};
  gmtime_r(&seconds, &utc);
  char text[32];
  const size_t size = std::strftime(text, sizeof(text), "%Y%m%dT%H%M%S", &utc);
  return StrCat(std::string_view(text, size), ".", now / 1'000'000 % 1000, "Z-", getpid());
}

}  // namespace plinth::engine
