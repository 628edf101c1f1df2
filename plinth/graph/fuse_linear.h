// Folds what follows a linear product into it: an activation, a gate, a residual sum.
#pragma once

#include "plinth/graph/graph.h"

namespace plinth::graph {

// linear -> unary                                  becomes linear(activation)
// linear -> halves a, b -> silu(a) * b             becomes linear(activation = swiglu)
// linear + other value of the same shape           becomes linear(residual)
// Only where nobody else reads the value in between, which disappears. Values keep their ids; those that
// disappear have no producer any more.
Graph FuseLinear(const Graph& graph);

}  // namespace plinth::graph
