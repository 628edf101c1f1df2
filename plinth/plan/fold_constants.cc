#include "plinth/plan/fold_constants.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "plinth/plan/plan.h"

namespace plinth::plan {
namespace {

using graph::Graph;
using graph::GraphValue;
using graph::Node;
using graph::ValueKind;

size_t At(int i) { return static_cast<size_t>(i); }

// Weights that are read once: what a plan packs of them goes with the plan.
class Borrowed : public WeightSource {
 public:
  explicit Borrowed(std::shared_ptr<Weights> weights) : weights_(std::move(weights)) {}
  StatusOr<View> Load(const std::string& name, const ValueType& type) override {
    return weights_->Load(ValueOf(name, type));
  }
  void Release(const std::string& name) override { weights_->Release(ValueOf(name, {})); }

 private:
  static GraphValue ValueOf(const std::string& name, ValueType type) {
    GraphValue value;
    value.type = std::move(type);
    value.name = name;
    value.kind = ValueKind::kConstant;
    return value;
  }
  std::shared_ptr<Weights> weights_;
};

bool FixedShape(const ValueType& type) {
  return std::all_of(type.shape.begin(), type.shape.end(), [](const Dim& d) { return d.constant(); });
}

class Folder {
 public:
  Folder(const Graph& graph, std::shared_ptr<Weights> weights, Isa isa)
      : g_(graph), weights_(std::move(weights)), isa_(isa), constant_(graph.values.size(), 0) {}

  StatusOr<Graph> Run() {
    FindConstant();
    const std::vector<int> wanted = Wanted();
    if (!wanted.empty()) {
      PLINTH_ASSIGN_OR_RETURN(const auto literals, Compute(wanted));
      for (size_t i = 0; i < wanted.size(); ++i) SetLiteral(wanted[i], literals[i]);
    }
    RemoveFolded();
    return std::move(g_);
  }

 private:
  void FindConstant() {
    for (size_t v = 0; v < g_.values.size(); ++v) constant_[v] = g_.values[v].kind == ValueKind::kConstant;
    for (const Node& node : g_.nodes) {
      const bool from_constants =
          !node.inputs.empty() && std::all_of(node.inputs.begin(), node.inputs.end(),
                                              [&](int v) { return v < 0 || constant_[At(v)]; });
      const bool folds = from_constants && std::all_of(node.outputs.begin(), node.outputs.end(), [&](int v) {
                           return FixedShape(g_.values[At(v)].type);
                         });
      folded_.push_back(folds);
      for (const int v : node.outputs) constant_[At(v)] = folds;
    }
  }

  // Results of folded nodes that a node that stays reads, or that are outputs; ascending.
  std::vector<int> Wanted() const {
    std::vector<int> wanted;
    const auto want = [&](int v) {
      if (v >= 0 && constant_[At(v)] && g_.values[At(v)].kind == ValueKind::kResult) wanted.push_back(v);
    };
    for (size_t n = 0; n < g_.nodes.size(); ++n) {
      if (!folded_[n]) std::for_each(g_.nodes[n].inputs.begin(), g_.nodes[n].inputs.end(), want);
    }
    std::for_each(g_.outputs.begin(), g_.outputs.end(), want);
    std::sort(wanted.begin(), wanted.end());
    wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
    return wanted;
  }

  // The graph of the folded nodes, with values of its own.
  Graph Folded(const std::vector<int>& wanted) const {
    Graph part;
    std::map<int, int> ids;
    const auto id = [&](int v) {
      if (v < 0) return v;
      const auto [at, fresh] = ids.try_emplace(v, static_cast<int>(part.values.size()));
      if (fresh) part.values.push_back(g_.values[At(v)]);
      return at->second;
    };
    for (size_t n = 0; n < g_.nodes.size(); ++n) {
      if (!folded_[n]) continue;
      Node node = g_.nodes[n];
      for (int& v : node.inputs) v = id(v);
      for (int& v : node.outputs) {
        v = id(v);
        part.values[At(v)].producer = static_cast<int>(part.nodes.size());
      }
      part.nodes.push_back(std::move(node));
    }
    for (const int v : wanted) {
      part.outputs.push_back(id(v));
      part.output_names.push_back(StrCat("constant ", v));
    }
    return part;
  }

  StatusOr<std::vector<std::shared_ptr<const Tensor>>> Compute(const std::vector<int>& wanted) const {
    PLINTH_ASSIGN_OR_RETURN(
        const auto plan,
        Plan::Make(Folded(wanted), std::make_shared<Weights>(std::make_shared<Borrowed>(weights_)),
                   {.isa = isa_}));
    PLINTH_ASSIGN_OR_RETURN(const auto workspace, Workspace::Make(plan, 1));
    PLINTH_RETURN_IF_ERROR(workspace->Run(nullptr));
    std::vector<std::shared_ptr<const Tensor>> literals;
    for (size_t i = 0; i < wanted.size(); ++i) {
      const View& view = workspace->Output(i);
      const auto tensor =
          std::make_shared<Tensor>(view.dtype, std::vector<int64_t>(view.dims, view.dims + view.rank));
      if (tensor->bytes() > 0) std::memcpy(tensor->raw(), view.data, static_cast<size_t>(tensor->bytes()));
      literals.push_back(tensor);
    }
    return literals;
  }

  void SetLiteral(int v, std::shared_ptr<const Tensor> literal) {
    GraphValue& value = g_.values[At(v)];
    value.kind = ValueKind::kConstant;
    value.producer = -1;
    value.literal = std::move(literal);
    if (value.name.empty()) value.name = StrCat("constant ", v);
  }

  void RemoveFolded() {
    std::vector<Node> nodes;
    for (size_t n = 0; n < g_.nodes.size(); ++n) {
      for (const int v : g_.nodes[n].outputs) {
        g_.values[At(v)].producer = folded_[n] ? -1 : static_cast<int>(nodes.size());
      }
      if (!folded_[n]) nodes.push_back(std::move(g_.nodes[n]));
    }
    g_.nodes = std::move(nodes);
  }

  Graph g_;
  const std::shared_ptr<Weights> weights_;
  const Isa isa_;
  std::vector<uint8_t> constant_;  // by value
  std::vector<uint8_t> folded_;    // by node
};

}  // namespace

StatusOr<Graph> FoldConstants(const Graph& graph, std::shared_ptr<Weights> weights, Isa isa) {
  return Folder(graph, std::move(weights), isa).Run();
}

}  // namespace plinth::plan
