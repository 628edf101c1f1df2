#include "plinth/engine/runner.h"

#include <algorithm>

namespace plinth::engine {
namespace {

// Whether the network's outputs (dense f32) are finite throughout.
bool AllFinite(absl::Span<const View> outputs) {
  float sum = 0;  // x - x is 0 for finite x and NaN else
  for (const View& v : outputs) {
    const float* x = v.as<float>();
    for (int64_t i = 0, n = v.size(); i < n; ++i) sum += x[i] - x[i];
  }
  return sum == 0;
}

}  // namespace

StatusOr<std::unique_ptr<Runner>> Runner::Make(const models::Model& model,
                                               std::shared_ptr<const plan::Plan> plan, RunSize size, Isa isa,
                                               int threads) {
  auto runner = std::unique_ptr<Runner>(new Runner);
  PLINTH_ASSIGN_OR_RETURN(runner->workspace_, plan::Workspace::Make(plan, threads));
  runner->codec_ = model.MakeCodec(size.rows, size.tokens, isa);
  for (size_t i = 0; i < plan->inputs().size(); ++i) {
    runner->inputs_.push_back(runner->workspace_->Input(i));
  }
  runner->outputs_.resize(plan->outputs().size());
  const std::vector<std::string> names = model.dimensions();
  for (const std::string& name : plan->dimensions()) {
    const auto at = std::find(names.begin(), names.end(), name);
    PLINTH_CHECK(at != names.end());
    runner->order_.push_back(static_cast<size_t>(at - names.begin()));
  }
  runner->extents_.resize(names.size());
  runner->ordered_.resize(plan->dimensions().size());
  return runner;
}

void Runner::Begin(int64_t steps) { codec_->Begin(inputs_, steps); }

const std::vector<int64_t>& Runner::Measure() {
  codec_->Finish(extents_);
  for (size_t i = 0; i < ordered_.size(); ++i) ordered_[i] = extents_[order_[i]];
  return ordered_;
}

Status Runner::Compute(Threads* threads, StopCheck cancelled) {
  PLINTH_RETURN_IF_ERROR(workspace_->SetExtents(Measure()));
  PLINTH_RETURN_IF_ERROR(workspace_->Run(threads, cancelled));
  for (size_t i = 0; i < outputs_.size(); ++i) outputs_[i] = workspace_->Output(i);
  if (AllFinite(outputs_)) return absl::OkStatus();
  return absl::DataLossError(
      "the network gave a value that is not finite, which it never does with sound weights; the file is "
      "damaged");
}

Status Runner::ComputeObserved(int64_t pass, RunObserver& observer, Threads* threads, StopCheck cancelled) {
  PLINTH_RETURN_IF_ERROR(workspace_->SetExtents(Measure()));
  PLINTH_RETURN_IF_ERROR(observer.Begin(pass, *workspace_));
  for (size_t s = 0; s < workspace_->plan().step_count(); ++s) {
    PLINTH_RETURN_IF_ERROR(observer.Before(s, *workspace_));
    PLINTH_RETURN_IF_ERROR(workspace_->RunSteps(s, s + 1, threads, cancelled));
    PLINTH_RETURN_IF_ERROR(observer.After(s, *workspace_));
  }
  for (size_t i = 0; i < outputs_.size(); ++i) outputs_[i] = workspace_->Output(i);
  return absl::OkStatus();
}

}  // namespace plinth::engine
