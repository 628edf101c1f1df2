// Computes a model's network in double with the operators' references: the truth that plans are held against.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "plinth/base/interrupt.h"
#include "plinth/engine/session.h"
#include "plinth/ops/checks.h"

namespace plinth::verify {

// The network of a loaded model as it was published, node by node, without planner, kernels, fusions or
// packed weights. Weights are rounded to the network's types, as the plans have them. Thread-safe.
class ReferenceNetwork {
 public:
  // `session` must outlive it. grouped: for groups of several rows. Errors: those of reading weights;
  // Internal for an operator without a reference.
  static StatusOr<ReferenceNetwork> Make(const engine::Session& session, bool grouped);

  // A named value of a run; a value with several names stands once for each.
  struct Layer {
    std::string name, op;
    ops::RefTensor value;
  };
  struct Result {
    std::vector<double> quantiles;  // [rows][steps][levels of the model], in the rows' own units
    std::vector<Layer> layers;      // in execution order; empty unless asked for
  };

  // One pass over `groups`, each at most the model's context long; steps as for models::Codec::Begin.
  // Errors: Cancelled when `cancelled` says so, which is asked between operators.
  StatusOr<Result> Run(std::span<const std::span<const models::Row>> groups, int64_t steps, bool layers,
                       StopCheck cancelled = {}) const;

 private:
  ReferenceNetwork() = default;

  const engine::Session* session_ = nullptr;
  graph::Graph graph_;
  std::vector<ops::RefTensor> constants_;  // by value; not present for others
  std::vector<int> last_use_;              // node after which a value is no longer needed; -1: never read
};

// The forecast of `groups` in double, beyond one pass as the family continues: what Session::Run gives but
// for rounding. Groups are spread over the session's threads. Errors: as Session::Run.
StatusOr<std::vector<engine::Forecast>> ReferenceForecast(const ReferenceNetwork& network,
                                                          const engine::Session& session,
                                                          std::span<const engine::Group> groups,
                                                          const engine::ForecastRequest& request,
                                                          StopCheck cancelled = {});

}  // namespace plinth::verify
