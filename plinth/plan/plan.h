// Makes a graph executable on the CPU: order, kernels, memory, all fixed before the first run.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "plinth/base/interrupt.h"
#include "plinth/base/threads.h"
#include "plinth/graph/graph.h"
#include "plinth/ops/cpu_step.h"
#include "plinth/plan/weights.h"

namespace plinth::plan {

struct PlanOptions {
  // The largest extent of each named dimension; a run may have any extents up to these.
  Extents capacity;
  Isa isa = Isa::kV2;
  // Named values that stay readable after a run (captures). "*" keeps every named value.
  std::vector<std::string> observe;
  // Constants that a step takes stay readable even where its kernel has packed them (captures of operators).
  bool keep_constants = false;
  // Times each step of each run.
  bool profile = false;
  // Kernels to use instead of the default one: operator -> kernel.
  std::vector<std::pair<std::string, std::string>> kernels;
};

// A named value of the plan.
struct PlanPort {
  std::string name;
  int value;
  ValueType type;
};

// Immutable; shared by any number of workspaces and threads.
class Plan {
 public:
  // Everything that can fail fails here. Errors: InvalidArgument (a dimension without capacity, an
  // observed name that does not exist), Unimplemented (no kernel), ResourceExhausted (arena too large),
  // and what the weights report.
  static StatusOr<std::shared_ptr<const Plan>> Make(const graph::Graph& graph,
                                                    std::shared_ptr<Weights> weights,
                                                    const PlanOptions& options);

  const std::vector<PlanPort>& inputs() const { return inputs_; }
  const std::vector<PlanPort>& outputs() const { return outputs_; }
  const std::vector<PlanPort>& observed() const { return observed_; }
  // Names of the dimensions, in the order that Workspace::SetExtents takes them.
  const std::vector<std::string>& dimensions() const { return dimensions_; }
  const std::vector<int64_t>& capacity() const { return capacity_; }

  int64_t arena_bytes() const { return arena_bytes_; }
  int64_t scratch_bytes() const { return scratch_bytes_; }  // of one worker
  int64_t weight_bytes() const { return weights_->bytes(); }
  // Work of one run at these extents (in the order of dimensions()).
  ops::Cost CostAt(const std::vector<int64_t>& extents) const;
  // The plan, step by step, for people: operator, kernel and why, type, bytes, flops, place.
  std::string Explain() const;
  size_t step_count() const { return steps_.size(); }
  // "blocks.0.attention.qkv: linear", for profiles.
  std::string StepName(size_t step) const;
  const ops::OpCall& StepCall(size_t step) const { return steps_[step].op.call(); }
  // Work of one step at full capacity.
  ops::Cost StepCost(size_t step) const;
  std::string_view StepKernel(size_t step) const { return steps_[step].op.kernel().name; }
  bool profile() const { return profile_; }

  // For observers: the values that a step reads (-1 for an absent input) and writes, and where it stands.
  const std::vector<int>& StepInputs(size_t step) const { return steps_[step].in; }
  const std::vector<int>& StepOutputs(size_t step) const { return steps_[step].out; }
  const std::string& StepScope(size_t step) const { return steps_[step].scope; }
  // The value whose memory `value` is a view of; itself where it has its own.
  int Root(int value) const;

 private:
  friend class Workspace;
  friend class PlanMaker;

  struct DimExpr {
    int symbol = -1;  // index into dimensions_, or -1 for a constant
    int64_t scale = 0, offset = 0;
  };
  struct PlannedValue {
    DType dtype = DType::kF32;
    int rank = 0;
    DimExpr dims[kMaxRank];
    std::byte* constant = nullptr;  // memory of a kept constant
    int64_t offset = -1;            // place in the arena; -1: none (constant, alias, packed away)
    int alias_of = -1;              // the value whose memory this one reinterprets
    int alias_step = -1;            // the view call that says how: index into views_
    std::string name;
  };
  struct Step {
    ops::CpuStep op;
    std::vector<int> in, out;  // value ids; -1 for absent
    std::string scope;
  };

  View ViewAt(const PlannedValue& value, const std::vector<int64_t>& extents) const;
  std::string WhyText() const;

  std::shared_ptr<Weights> weights_;
  std::vector<std::shared_ptr<const Tensor>> literals_;  // those that steps read; the graph may be gone
  std::vector<PlannedValue> values_;
  std::vector<Step> steps_;
  std::vector<ops::OpCall> views_;
  std::vector<int> view_order_;  // aliases, sources first
  std::vector<PlanPort> inputs_, outputs_, observed_;
  std::vector<std::string> dimensions_;
  std::vector<int64_t> capacity_;
  int64_t arena_bytes_ = 0, arena_bound_ = 0, scratch_bytes_ = 0;
  bool profile_ = false;
};

// The memory of one running plan. Used by one run at a time.
class Workspace {
 public:
  // `workers`: the most threads a Run will use. Extents are the plan's capacity at first.
  // Error: ResourceExhausted when the arena does not fit into memory.
  static StatusOr<std::unique_ptr<Workspace>> Make(std::shared_ptr<const Plan> plan, int workers);

  const Plan& plan() const { return *plan_; }

  // Sets the extents of the next runs, in the order of plan().dimensions().
  // Error: OutOfRange naming the dimension, its extent and its capacity.
  Status SetExtents(absl::Span<const int64_t> extents);

  // Inputs to fill before a run, and outputs to read until the next one; dense, at the set extents.
  const View& Input(size_t i) const { return views_[static_cast<size_t>(plan_->inputs_[i].value)]; }
  const View& Output(size_t i) const { return views_[static_cast<size_t>(plan_->outputs_[i].value)]; }
  // An observed value, by its place in plan().observed().
  const View& Observed(size_t i) const { return views_[static_cast<size_t>(plan_->observed_[i].value)]; }

  // Runs all steps. threads == nullptr (or one thread): on the calling thread alone. Allocates nothing,
  // takes no lock and logs nothing by itself. Error: OutOfRange when data does not fit (an index out of
  // range); Cancelled when `cancelled`, which is asked before each step, says so. Outputs are then
  // meaningless.
  Status Run(Threads* threads, StopCheck cancelled = {}) {
    return RunSteps(0, plan_->step_count(), threads, cancelled);
  }
  // The same for steps [begin, end) of a run that has done those before: between them an observer may read
  // what a step is about to read and has written, and write over it.
  Status RunSteps(size_t begin, size_t end, Threads* threads, StopCheck cancelled = {});
  // A value of the plan, at the set extents: inputs of a step before it runs, outputs after it. The data of a
  // constant is null where it was packed away.
  const View& ValueView(int value) const { return views_[static_cast<size_t>(value)]; }

  // Seconds each step took in the last run; empty unless the plan profiles.
  const std::vector<double>& step_seconds() const { return seconds_; }

 private:
  Workspace() : arena_(nullptr, &std::free), scratch_(nullptr, &std::free) {}
  void UpdateViews();
  void RunStep(size_t s, Threads* threads);

  std::shared_ptr<const Plan> plan_;
  int workers_ = 1;
  AlignedBytes arena_, scratch_;
  std::vector<int64_t> extents_;
  std::vector<View> views_;           // by value
  std::vector<View> step_views_;      // inputs and outputs of each step, one after another
  std::vector<size_t> step_offsets_;  // where a step's views begin
  std::vector<uint8_t> step_serial_;  // too small, at these extents, to be worth more than one thread
  std::vector<ops::KernelFault> faults_;
  std::vector<double> seconds_;
};

}  // namespace plinth::plan
