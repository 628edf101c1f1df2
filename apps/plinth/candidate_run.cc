#include "apps/plinth/candidate_run.h"

#include "plinth/base/interrupt.h"
#include "plinth/evidence/environment.h"
#include "plinth/ops/registry.h"
#include "plinth/series/quantiles.h"

namespace plinth::app {
namespace {

// "linear=onednn" -> {"linear", "onednn"}; both must exist.
StatusOr<std::pair<std::string, std::string>> KernelChoice(const std::string& text) {
  const size_t equals = text.find('=');
  const std::string op = text.substr(0, equals);
  const ops::OpSpec* spec = equals == text.npos ? nullptr : ops::FindOp(op);
  if (spec == nullptr) {
    return absl::InvalidArgumentError(StrCat("--kernel ", text, ": OPERATOR=KERNEL is expected",
                                             equals == text.npos ? "" : ", and there is no such operator"));
  }
  const std::string kernel = text.substr(equals + 1);
  for (const ops::CpuKernel& known : spec->cpu) {
    if (kernel == known.name) return std::pair(op, kernel);
  }
  return absl::InvalidArgumentError(
      StrCat("--kernel ", text, ": ", op, " has no kernel of that name; it has ",
             Join(spec->cpu, ", ", [](const ops::CpuKernel& k) { return k.name; })));
}

}  // namespace

void AddCandidateOptions(Program& program, CLI::App* command, CandidateOptions* o, bool data_required) {
  command->add_option("-m,--model", o->model, "model folder (default: the shipped model)");
  AddSeriesOptions(command, &o->series);
  command->get_option("--data")->required(data_required);
  AddForecastOptions(command, o);
  command->add_option("--kernel", o->kernels, "OPERATOR=KERNEL: a kernel other than the default one");
  command->add_flag("--fused", o->fused, "the graph as forecasts run it, in which some names are gone");
  program.AddCommon(command, o);
}

StatusOr<std::unique_ptr<CandidateRun>> CandidateRun::Load(const CandidateOptions& o) {
  auto loaded = std::unique_ptr<CandidateRun>(new CandidateRun);
  CandidateRun& run = *loaded;
  PLINTH_ASSIGN_OR_RETURN(run.request_.levels, series::ParseQuantiles(o.quantiles));
  engine::SessionOptions options;
  for (const std::string& text : o.kernels) {
    PLINTH_ASSIGN_OR_RETURN(auto choice, KernelChoice(text));
    options.kernels.push_back(std::move(choice));
  }
  PLINTH_ASSIGN_OR_RETURN(run.runtime_, Runtime::Make(o));
  PLINTH_ASSIGN_OR_RETURN(const std::string folder, ModelFolderOrShipped(o.model));
  PLINTH_ASSIGN_OR_RETURN(run.session_, engine::Session::Load(folder, run.runtime_->context(), options));
  PLINTH_ASSIGN_OR_RETURN(run.model_digest_, run.session_->folder().Digest());
  const models::ModelInfo& info = run.session_->model().info();
  run.request_.horizon = o.horizon == 0 ? info.horizon : o.horizon;
  run.request_.context = o.context;
  PLINTH_RETURN_IF_ERROR(CheckContext(o.context, info));
  PLINTH_ASSIGN_OR_RETURN(const engine::Together together, TogetherOf(o.series, info));
  PLINTH_ASSIGN_OR_RETURN(run.series_,
                          engine::SeriesGroups::Load(o.series.data, o.series.columns,
                                                     {o.series.future_data, run.request_.horizon}, together));
  evidence::EnvironmentOptions options_of_environment;
  options_of_environment.run_tools = false;  // a vendor's tool may take seconds
  options_of_environment.threads = &run.runtime_->threads();
  PLINTH_ASSIGN_OR_RETURN(const auto environment, evidence::CollectEnvironment(options_of_environment));
  run.environment_ = evidence::ToJson(environment);
  return loaded;
}

Status CandidateRun::Write(engine::CaptureJob job, const std::string& folder) {
  job.model_digest = model_digest_;
  job.inputs_digest = series_->digest();
  job.environment = environment_;
  return engine::WriteCapture(*session_, series_->groups(), request_, job, folder, &Interrupted);
}

void CandidateRun::PrintNotes() const {
  Notes notes;
  for (const std::string& note : series_->notes()) notes.Add(note);
  notes.Print();
}

}  // namespace plinth::app
