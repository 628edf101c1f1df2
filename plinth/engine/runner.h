// Runs one plan over groups of rows: encode, compute, decode.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "plinth/base/interrupt.h"
#include "plinth/models/model.h"
#include "plinth/plan/plan.h"

namespace plinth::engine {

// The most rows and tokens of one run.
struct RunSize {
  int64_t rows = 0, tokens = 0;
};

// Watches a run step by step: what a step is about to read and what it has written may be read, and written
// over. An error ends the run.
class RunObserver {
 public:
  virtual ~RunObserver() = default;
  // Whether it reads constants as inputs of steps, which costs a copy of the weights.
  virtual bool reads_constants() const { return false; }
  // Once in each pass of a forecast, with the inputs filled.
  virtual Status Begin(int64_t pass, plan::Workspace& workspace) = 0;
  virtual Status Before(size_t step, plan::Workspace& workspace) = 0;
  virtual Status After(size_t step, plan::Workspace& workspace) = 0;
};

// A plan's memory and the model's codec for it. Used by one run at a time.
class Runner {
 public:
  // `plan` is one of `model` with a capacity of `size`; `threads` the most that Run will use.
  // Error: ResourceExhausted.
  static StatusOr<std::unique_ptr<Runner>> Make(const models::Model& model,
                                                std::shared_ptr<const plan::Plan> plan, RunSize size, Isa isa,
                                                int threads);

  // A run: Begin, Add each group, Compute, and Read its rows. Allocates nothing.
  void Begin(int64_t steps);
  void Add(std::span<const models::Row> group) { codec_->Add(group); }
  // Instead of Compute: the extents of what was added, without running.
  const std::vector<int64_t>& Measure();
  // Sets the extents of what was added and runs the plan (threads == nullptr: on this thread).
  // Errors: as plan::Workspace::Run; DataLoss when an output is not finite.
  Status Compute(Threads* threads, StopCheck cancelled = {});
  // The same, watched, as pass `pass`. What is not finite is no error here: the observer sees it.
  Status ComputeObserved(int64_t pass, RunObserver& observer, Threads* threads, StopCheck cancelled);
  // The forecast of row `i` as [steps][levels].
  void Read(int64_t i, std::span<double> quantiles) const { codec_->Read(outputs_, i, quantiles); }

  // Of the last run, in the order of the plan's dimensions.
  const std::vector<int64_t>& extents() const { return ordered_; }
  const models::Codec& codec() const { return *codec_; }
  const plan::Workspace& workspace() const { return *workspace_; }

 private:
  Runner() = default;

  std::unique_ptr<plan::Workspace> workspace_;
  std::unique_ptr<models::Codec> codec_;
  std::vector<View> inputs_;      // at full capacity
  std::vector<View> outputs_;     // of the last run
  std::vector<size_t> order_;     // of the plan's dimensions among the model's
  std::vector<int64_t> extents_;  // in the model's order
  std::vector<int64_t> ordered_;  // in the plan's order
};

}  // namespace plinth::engine
