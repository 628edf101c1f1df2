// Computes what depends on constants alone before a graph is planned.
#pragma once

#include <memory>

#include "plinth/graph/graph.h"
#include "plinth/plan/weights.h"

namespace plinth::plan {

// Runs, once, the nodes that read nothing but constants, and puts what others need of them into the graph as
// literals: reordered weights, which a kernel can then pack, tables picked from weights, and whatever a model
// computes from them. The bits are those that the nodes would give at run time. Values keep their ids; those
// that only such nodes read have no producer any more. Error: what planning and running those nodes reports.
StatusOr<graph::Graph> FoldConstants(const graph::Graph& graph, std::shared_ptr<Weights> weights, Isa isa);

}  // namespace plinth::plan
