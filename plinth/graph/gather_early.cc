#include "plinth/graph/gather_early.h"

#include <algorithm>
#include <map>
#include <set>

#include "plinth/ops/gather/op.h"

namespace plinth::graph {
namespace {

constexpr size_t kData = 0, kIndex = 1;  // inputs of gather

size_t At(int i) { return static_cast<size_t>(i); }

class Mover {
 public:
  Mover(Graph& graph, const Extents& capacity) : g_(graph), capacity_(capacity), readers_(graph.Readers()) {}

  // Moves gather node n; false when nothing stands before it that could wait.
  bool Move(size_t n) {
    if (!Selects(n)) return false;
    gather_ = n;
    FindRowwise();
    if (rowwise_.empty()) return false;
    const Node original = g_.nodes[n];
    std::vector<Node> before = Clones(original);
    Splice(std::move(before));
    return true;
  }

 private:
  const Shape& ShapeOf(int value) const { return g_.values[At(value)].type.shape; }

  // Whether node n is a gather of fewer rows than its data has.
  bool Selects(size_t n) const {
    const Node& node = g_.nodes[n];
    if (node.call.spec != &ops::GatherSpec() || ShapeOf(node.inputs[kIndex]).size() != 1) return false;
    const auto rows = Resolve(ShapeOf(node.inputs[kData])[0], capacity_);
    const auto wanted = Resolve(ShapeOf(node.inputs[kIndex])[0], capacity_);
    return rows.ok() && wanted.ok() && *wanted < *rows;
  }

  bool ReadOnlyHere(int value) const {
    if (std::find(g_.outputs.begin(), g_.outputs.end(), value) != g_.outputs.end()) return false;
    return std::all_of(readers_[At(value)].begin(), readers_[At(value)].end(),
                       [&](int n) { return At(n) == gather_ || rowwise_.count(At(n)) > 0; });
  }

  // Inputs of a node that hold its rows: those whose first dimension is that of the output.
  bool HoldsRows(int value, const Dim& rows) const {
    return value >= 0 && !ShapeOf(value).empty() && ShapeOf(value)[0] == rows;
  }

  // Backwards from the gather: the nodes whose results are wanted at the gathered rows only.
  void FindRowwise() {
    const int data = g_.nodes[gather_].inputs[kData];
    const Dim rows = ShapeOf(data)[0];
    rowwise_.clear();
    wanted_ = {data};
    for (size_t n = gather_; n-- > 0;) {
      const Node& node = g_.nodes[n];
      const int result = node.outputs[0];
      if (wanted_.count(result) == 0 || node.outputs.size() != 1 || !node.call.spec->rows_independent)
        continue;
      if (rows.constant() || !ReadOnlyHere(result)) continue;
      rowwise_.insert(n);
      for (const int v : node.inputs) {
        if (HoldsRows(v, rows)) wanted_.insert(v);
      }
    }
  }

  int Clone(int value, Dim rows) {
    GraphValue copy = g_.values[At(value)];
    copy.type.shape[0] = std::move(rows);
    copy.name.clear();
    copy.other_names.clear();
    copy.kind = ValueKind::kResult;
    g_.values.push_back(std::move(copy));
    return static_cast<int>(g_.values.size()) - 1;
  }

  // Gathers of what is needed whole elsewhere, then the row-wise nodes on gathered rows.
  std::vector<Node> Clones(const Node& gather) {
    const Dim rows = ShapeOf(gather.inputs[kData])[0], fewer = ShapeOf(gather.inputs[kIndex])[0];
    std::map<int, int> gathered;  // value -> its gathered rows
    std::vector<Node> nodes;
    for (const int v : wanted_) {
      const int producer = g_.values[At(v)].producer;
      if (producer >= 0 && rowwise_.count(At(producer)) > 0) continue;
      Node node = gather;
      node.inputs[kData] = v;
      gathered[v] = Clone(v, fewer);
      node.outputs = {gathered[v]};
      Infer(node);
      nodes.push_back(std::move(node));
    }
    for (const size_t n : rowwise_) {  // ascending, so inputs come first
      Node node = g_.nodes[n];
      for (int& v : node.inputs) {
        if (HoldsRows(v, rows)) v = gathered.at(v);
      }
      const int result = node.outputs[0];
      const bool last = result == gather.inputs[kData];
      gathered[result] = last ? gather.outputs[0] : Clone(result, fewer);
      node.outputs = {gathered[result]};
      Infer(node);
      nodes.push_back(std::move(node));
    }
    return nodes;
  }

  // A row-wise operator takes any number of rows, so inference cannot refuse.
  void Infer(Node& node) const {
    std::vector<std::optional<ValueType>> types;
    for (const int v : node.inputs) {
      types.push_back(v < 0 ? std::nullopt : std::make_optional(g_.values[At(v)].type));
    }
    auto call = ops::MakeCall(*node.call.spec, std::move(types), node.call.attributes);
    PLINTH_CHECK(call.ok());
    node.call = *std::move(call);
  }

  // Puts `before` in place of the gather and drops the nodes it replaces.
  void Splice(std::vector<Node> before) {
    std::vector<Node> nodes;
    for (size_t n = 0; n < g_.nodes.size(); ++n) {
      if (n == gather_) std::move(before.begin(), before.end(), std::back_inserter(nodes));
      if (n != gather_ && rowwise_.count(n) == 0) nodes.push_back(std::move(g_.nodes[n]));
    }
    g_.nodes = std::move(nodes);
    for (GraphValue& value : g_.values) {
      if (value.kind == ValueKind::kResult) value.producer = -1;
    }
    for (size_t n = 0; n < g_.nodes.size(); ++n) {
      for (const int v : g_.nodes[n].outputs) g_.values[At(v)].producer = static_cast<int>(n);
    }
  }

  Graph& g_;
  const Extents& capacity_;
  std::vector<std::vector<int>> readers_;
  size_t gather_ = 0;
  std::set<size_t> rowwise_;  // nodes
  std::set<int> wanted_;      // values, at the gathered rows
};

}  // namespace

Graph GatherEarly(const Graph& graph, const Extents& capacity) {
  Graph g = graph;
  for (size_t n = 0; n < g.nodes.size(); ++n) {
    if (Mover(g, capacity).Move(n)) n = 0;  // node numbers have changed
  }
  return g;
}

}  // namespace plinth::graph
