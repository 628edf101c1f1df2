// Holds one computation: typed values, operator nodes in execution order, and named constants.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "plinth/ops/builder.h"
#include "plinth/tensor/tensor.h"

namespace plinth::graph {

enum class ValueKind : uint8_t { kInput, kConstant, kResult };

struct GraphValue {
  ValueType type;
  // Inputs and constants: always set. Results: the module path where the model gave one, else "".
  std::string name;
  // Further module paths of the same value: a module that ends with another one gives the same output.
  std::vector<std::string> other_names;
  ValueKind kind = ValueKind::kResult;
  int producer = -1;                      // node index of a result
  std::shared_ptr<const Tensor> literal;  // a constant given by value; others come from the weights
};

struct Node {
  ops::OpCall call;
  std::vector<int> inputs;   // value ids; -1 for an absent optional input
  std::vector<int> outputs;  // value ids
  std::string scope;         // module path the node was built in
};

// Values are numbered; nodes stand in an order in which every input is ready.
struct Graph {
  std::vector<GraphValue> values;
  std::vector<Node> nodes;
  std::vector<int> inputs;   // in the order they were declared
  std::vector<int> outputs;  // in the order they were declared; `output_names` beside it
  std::vector<std::string> output_names;

  // Ids of the nodes that read each value.
  std::vector<std::vector<int>> Readers() const;
  // One line per node, for people and tests.
  std::string ToString() const;
  // The value of that name (or other name), or -1.
  int FindValue(std::string_view name) const;
  // Constants that come from the weights: name, type.
  std::vector<int> Weights() const;
};

// The builder models write against.
class GraphBuilder : public ops::Builder {
 public:
  // A value bound at run time. `name` is unique.
  ops::Value Input(std::string_view name, ValueType type);
  void Output(std::string_view name, ops::Value v);
  // Returns the graph, or the first error that occurred while it was built. The builder is empty then.
  StatusOr<Graph> Finish();

  std::vector<ops::Value> Add(const ops::OpSpec& spec, std::vector<ops::Value> inputs,
                              ops::Attributes attributes) override;
  const ValueType& type(ops::Value v) const override;
  void PushScope(std::string_view name) override;
  void PopScope() override;
  ops::Value Name(ops::Value v, std::string_view suffix = "") override;
  ops::Value Constant(std::string_view name, DType dtype, std::vector<int64_t> dims) override;
  ops::Value Literal(std::string_view name, const std::vector<float>& values,
                     std::vector<int64_t> dims) override;
  ops::Value LiteralI32(std::string_view name, const std::vector<int32_t>& values,
                        std::vector<int64_t> dims) override;
  void Fail(Status status) override;

 private:
  std::string Path(std::string_view name) const;
  int NewValue(ValueType type, ValueKind kind, std::string name);
  template <typename T>
  ops::Value NewLiteral(std::string_view name, DType dtype, const std::vector<T>& values,
                        const std::vector<int64_t>& dims);

  Graph graph_;
  std::vector<std::string> scopes_;
  Status error_;
};

}  // namespace plinth::graph
