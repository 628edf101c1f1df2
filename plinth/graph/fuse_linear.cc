#include "plinth/graph/fuse_linear.h"

#include <algorithm>

#include "plinth/ops/binary/op.h"
#include "plinth/ops/linear/op.h"
#include "plinth/ops/slice/op.h"
#include "plinth/ops/unary/op.h"

namespace plinth::graph {
namespace {

constexpr size_t kResidual = 3;  // input port of linear

size_t At(int i) { return static_cast<size_t>(i); }

class Fuser {
 public:
  explicit Fuser(const Graph& graph) : g_(graph), removed_(graph.nodes.size(), 0) {}

  Graph Run() {
    // Activations first: a residual is added after them.
    for (size_t n = 0; n < g_.nodes.size(); ++n) {
      if (IsLinear(n)) readers_ = g_.Readers(), FuseActivation(n) || FuseGate(n);
    }
    for (size_t n = 0; n < g_.nodes.size(); ++n) {
      if (IsLinear(n)) readers_ = g_.Readers(), FuseResidual(n);
    }
    Compact();
    return std::move(g_);
  }

 private:
  bool IsLinear(size_t n) const { return !removed_[n] && Is(n, ops::LinearSpec()); }
  bool Is(size_t n, const ops::OpSpec& spec) const { return g_.nodes[n].call.spec == &spec; }
  bool HasFunction(size_t n, const ops::OpSpec& spec, std::string_view function) const {
    return Is(n, spec) && g_.nodes[n].call.attributes.Text("function") == function;
  }
  bool IsOutput(int value) const {
    return std::find(g_.outputs.begin(), g_.outputs.end(), value) != g_.outputs.end();
  }
  const ops::Attributes& Attrs(size_t n) const { return g_.nodes[n].call.attributes; }
  bool Plain(size_t n) const {
    return Attrs(n).Find("activation") == nullptr && g_.nodes[n].inputs.size() <= kResidual;
  }

  // Nodes that read `value`, each once; removed ones read nothing.
  std::vector<size_t> ReadersOf(int value) const {
    std::vector<size_t> nodes;
    for (const int n : readers_[At(value)]) {
      if (!removed_[At(n)] && (nodes.empty() || nodes.back() != At(n))) nodes.push_back(At(n));
    }
    return nodes;
  }
  // The only node that reads `value`, or -1.
  int OnlyReader(int value) const {
    const auto nodes = ReadersOf(value);
    return nodes.size() == 1 && !IsOutput(value) ? static_cast<int>(nodes[0]) : -1;
  }

  // Replaces node n and `others` by one linear that stands where the last of them stood.
  bool Replace(size_t n, std::vector<size_t> others, std::vector<int> inputs, ops::Attributes attributes) {
    std::vector<std::optional<ValueType>> types;
    for (const int v : inputs) {
      types.push_back(v < 0 ? std::nullopt : std::make_optional(g_.values[At(v)].type));
    }
    auto call = ops::MakeCall(ops::LinearSpec(), std::move(types), std::move(attributes));
    const size_t last = *std::max_element(others.begin(), others.end());
    const int result = g_.nodes[last].outputs[0];
    if (!call.ok() || !(call->outputs[0] == g_.values[At(result)].type)) return false;
    Node fused{*std::move(call), std::move(inputs), {result}, g_.nodes[n].scope};
    removed_[n] = 1;
    for (const size_t other : others) removed_[other] = 1;
    removed_[last] = 0;
    g_.nodes[last] = std::move(fused);
    return true;
  }

  bool FuseActivation(size_t n) {
    const Node& node = g_.nodes[n];
    const int reader = OnlyReader(node.outputs[0]);
    if (!Plain(n) || reader < 0 || !Is(At(reader), ops::UnarySpec())) return false;
    const std::string function = Attrs(At(reader)).Text("function");
    const auto& names = ops::kActivationNames;
    const bool known = function != "none" && function != "swiglu" &&
                       std::find(std::begin(names), std::end(names), function) != std::end(names);
    if (!known) return false;
    ops::Attributes attributes = Attrs(n);
    attributes.Set("activation", function);
    return Replace(n, {At(reader)}, node.inputs, std::move(attributes));
  }

  // The half of `value` that slice node n takes: 0, 1, or -1 when it takes something else.
  int Half(size_t n, int value) const {
    if (!Is(n, ops::SliceSpec())) return -1;
    const Shape& from = g_.values[At(value)].type.shape;
    const Dim& whole = from.back();
    const Shape& to = g_.values[At(g_.nodes[n].outputs[0])].type.shape;
    const int64_t axis = Attrs(n).Int("axis");
    const int64_t rank = static_cast<int64_t>(from.size());
    if (axis != rank - 1 && axis != -1) return -1;
    if (!whole.constant() || Attrs(n).Int("step", 1) != 1 || 2 * to.back().offset() != whole.offset())
      return -1;
    int64_t begin = Attrs(n).Int("begin");
    if (begin < 0) begin += whole.offset();
    return begin == 0 ? 0 : begin == to.back().offset() ? 1 : -1;
  }

  bool FuseGate(size_t n) {
    const Node& node = g_.nodes[n];
    const int y = node.outputs[0];
    const auto slices = ReadersOf(y);
    if (!Plain(n) || IsOutput(y) || slices.size() != 2) return false;
    const int first = Half(slices[0], y), second = Half(slices[1], y);
    if (first < 0 || second < 0 || first == second) return false;
    const size_t a = first == 0 ? slices[0] : slices[1], b = first == 0 ? slices[1] : slices[0];
    const int silu = OnlyReader(g_.nodes[a].outputs[0]);
    if (silu < 0 || !HasFunction(At(silu), ops::UnarySpec(), "silu")) return false;
    const int product = OnlyReader(g_.nodes[At(silu)].outputs[0]);
    if (product < 0 || !HasFunction(At(product), ops::BinarySpec(), "mul")) return false;
    if (OnlyReader(g_.nodes[b].outputs[0]) != product) return false;
    ops::Attributes attributes = Attrs(n);
    attributes.Set("activation", std::string("swiglu"));
    return Replace(n, {a, b, At(silu), At(product)}, node.inputs, std::move(attributes));
  }

  bool FuseResidual(size_t n) {
    const Node& node = g_.nodes[n];
    const int y = node.outputs[0];
    const int sum = OnlyReader(y);
    if (node.inputs.size() > kResidual || sum < 0) return false;
    if (!HasFunction(At(sum), ops::BinarySpec(), "add")) return false;
    const auto& terms = g_.nodes[At(sum)].inputs;
    const int other = terms[0] == y ? terms[1] : terms[0];
    if (other == y || !(g_.values[At(other)].type == g_.values[At(y)].type)) return false;
    std::vector<int> inputs = node.inputs;
    inputs.resize(kResidual + 1, -1);
    inputs[kResidual] = other;
    return Replace(n, {At(sum)}, std::move(inputs), Attrs(n));
  }

  void Compact() {
    std::vector<Node> nodes;
    for (GraphValue& value : g_.values) {
      if (value.kind == ValueKind::kResult) value.producer = -1;
    }
    for (size_t n = 0; n < g_.nodes.size(); ++n) {
      if (removed_[n]) continue;
      for (const int v : g_.nodes[n].outputs) g_.values[At(v)].producer = static_cast<int>(nodes.size());
      nodes.push_back(std::move(g_.nodes[n]));
    }
    g_.nodes = std::move(nodes);
  }

  Graph g_;
  std::vector<uint8_t> removed_;
  std::vector<std::vector<int>> readers_;
};

}  // namespace

Graph FuseLinear(const Graph& graph) { return Fuser(graph).Run(); }

}  // namespace plinth::graph
