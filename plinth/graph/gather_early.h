// Moves a gather of rows before the operators that work row by row, so that rows nobody asks for are not
// computed.
#pragma once

#include "plinth/graph/graph.h"

namespace plinth::graph {

// gather(f(x, y), index) becomes f(gather(x, index), gather(y, index)) where row r of f's result depends on
// row r of its inputs alone (OpSpec::rows_independent) and nobody else reads it; so on, backwards, until an
// operator that mixes rows (attention) or a value that others need whole. Only for gathers that select fewer
// rows than there are, at the extents `capacity`. Values keep their ids; those that are no longer computed
// have no producer any more. Results keep their bits.
Graph GatherEarly(const Graph& graph, const Extents& capacity);

}  // namespace plinth::graph
