// Turns a graph into a plan; internal to this folder.
#pragma once

#include <vector>

#include "plinth/plan/plan.h"

namespace plinth::plan {

class PlanMaker {
 public:
  PlanMaker(const graph::Graph& graph, const PlanOptions& options, Plan& plan,
            std::shared_ptr<Weights> weights);
  Status Run();

 private:
  Status CollectDimensions();
  Status FindObserved();
  void FindLiveNodes();
  Status DescribeValues();
  void ChooseAliases();
  // Whether every reader of node `n`'s output can work on `view` of it, so that nothing is copied.
  bool ReadersAccept(int value, const View& view) const;
  Status MakeSteps();
  StatusOr<ops::CpuStep> MakeStep(const graph::Node& node);
  Status KeepConstants();
  Status PlaceMemory();
  bool TakesOver(const Plan::Step& step, size_t port, int step_index) const;
  View CapacityView(int value) const;

  const graph::Graph& graph_;
  const PlanOptions& options_;
  Plan& plan_;
  std::vector<std::vector<int>> readers_;
  std::vector<uint8_t> live_;     // by node
  std::vector<uint8_t> pinned_;   // by value: an output or observed, readable after the run
  std::vector<uint8_t> aliased_;  // by node: executes as a view, without a step
  std::vector<uint8_t> kept_;     // by value: a constant that some step reads at run time
  std::vector<int> storage_;      // by value: the value whose arena memory it lives in
  std::vector<int> last_use_;     // by storage value: step index
};

}  // namespace plinth::plan
