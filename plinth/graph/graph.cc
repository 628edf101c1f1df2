#include "plinth/graph/graph.h"

namespace plinth::graph {

std::vector<std::vector<int>> Graph::Readers() const {
  std::vector<std::vector<int>> readers(values.size());
  for (size_t n = 0; n < nodes.size(); ++n) {
    for (int v : nodes[n].inputs) {
      if (v >= 0) readers[static_cast<size_t>(v)].push_back(static_cast<int>(n));
    }
  }
  return readers;
}

int Graph::FindValue(std::string_view name) const {
  for (size_t v = 0; v < values.size(); ++v) {
    if (values[v].name == name) return static_cast<int>(v);
    for (const std::string& other : values[v].other_names) {
      if (other == name) return static_cast<int>(v);
    }
  }
  return -1;
}

std::vector<int> Graph::Weights() const {
  std::vector<int> ids;
  for (size_t v = 0; v < values.size(); ++v) {
    if (values[v].kind == ValueKind::kConstant && values[v].literal == nullptr) {
      ids.push_back(static_cast<int>(v));
    }
  }
  return ids;
}

std::string Graph::ToString() const {
  const auto label = [&](int v) {
    if (v < 0) return std::string("-");
    const GraphValue& value = values[static_cast<size_t>(v)];
    return value.name.empty() ? StrCat("%", v) : value.name;
  };
  std::string out;
  for (const Node& node : nodes) {
    const std::string attributes = ops::ToString(node.call.attributes);
    StrAppend(&out, Join(node.outputs, ", ", label), " = ", node.call.spec->name, "(",
              Join(node.inputs, ", ", label), ")", attributes.empty() ? "" : " ", attributes, " : ",
              plinth::ToString(values[static_cast<size_t>(node.outputs[0])].type), "\n");
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    StrAppend(&out, "output ", output_names[i], " = ", label(outputs[i]), "\n");
  }
  return out;
}

int GraphBuilder::NewValue(ValueType type, ValueKind kind, std::string name) {
  graph_.values.push_back({std::move(type), std::move(name), {}, kind, -1, nullptr});
  return static_cast<int>(graph_.values.size()) - 1;
}

std::string GraphBuilder::Path(std::string_view name) const {
  std::string path = Join(scopes_, ".");
  if (!name.empty()) StrAppend(&path, path.empty() ? "" : ".", name);
  return path;
}

void GraphBuilder::Fail(Status status) {
  if (error_.ok() && !status.ok()) error_ = Prepend(status, StrCat("in \"", Path(""), "\""));
}

ops::Value GraphBuilder::Input(std::string_view name, ValueType type) {
  if (graph_.FindValue(name) >= 0) {
    Fail(absl::InvalidArgumentError(StrCat("the name \"", name, "\" is taken")));
    return {};
  }
  const int id = NewValue(std::move(type), ValueKind::kInput, std::string(name));
  graph_.inputs.push_back(id);
  return {id};
}

void GraphBuilder::Output(std::string_view name, ops::Value v) {
  if (!v.valid()) {
    Fail(absl::InvalidArgumentError(StrCat("output \"", name, "\" has no value")));
    return;
  }
  graph_.outputs.push_back(v.id);
  graph_.output_names.emplace_back(name);
}

StatusOr<Graph> GraphBuilder::Finish() {
  PLINTH_RETURN_IF_ERROR(error_);
  Graph done = std::move(graph_);
  graph_ = {};
  return done;
}

std::vector<ops::Value> GraphBuilder::Add(const ops::OpSpec& spec, std::vector<ops::Value> inputs,
                                          ops::Attributes attributes) {
  if (!error_.ok()) return {};
  while (!inputs.empty() && !inputs.back().valid()) inputs.pop_back();
  std::vector<std::optional<ValueType>> types;
  for (const ops::Value v : inputs) {
    types.push_back(v.valid() ? std::make_optional(type(v)) : std::nullopt);
  }
  auto call = ops::MakeCall(spec, std::move(types), std::move(attributes));
  if (!call.ok()) {
    Fail(call.status());
    return {};
  }
  Node node{*std::move(call), {}, {}, Path("")};
  for (const ops::Value v : inputs) node.inputs.push_back(v.id);
  std::vector<ops::Value> results;
  for (const ValueType& t : node.call.outputs) {
    const int id = NewValue(t, ValueKind::kResult, "");
    graph_.values.back().producer = static_cast<int>(graph_.nodes.size());
    node.outputs.push_back(id);
    results.push_back({id});
  }
  graph_.nodes.push_back(std::move(node));
  return results;
}

const ValueType& GraphBuilder::type(ops::Value v) const {
  static const ValueType kScalar;
  return v.valid() ? graph_.values[static_cast<size_t>(v.id)].type : kScalar;
}

void GraphBuilder::PushScope(std::string_view name) { scopes_.emplace_back(name); }
void GraphBuilder::PopScope() { scopes_.pop_back(); }

ops::Value GraphBuilder::Name(ops::Value v, std::string_view suffix) {
  if (!v.valid()) return v;
  GraphValue& value = graph_.values[static_cast<size_t>(v.id)];
  std::string path = Path(suffix);
  if (value.name.empty()) {
    value.name = std::move(path);
  } else {
    value.other_names.push_back(std::move(path));
  }
  return v;
}

ops::Value GraphBuilder::Constant(std::string_view name, DType dtype, std::vector<int64_t> dims) {
  const std::string path = Path(name);
  const ValueType type{dtype, Shape(dims.begin(), dims.end())};
  if (const int known = graph_.FindValue(path); known >= 0) {
    if (graph_.values[static_cast<size_t>(known)].type == type) return {known};
    Fail(absl::InvalidArgumentError(StrCat("the name \"", path, "\" is taken by another value")));
    return {};
  }
  return {NewValue(type, ValueKind::kConstant, path)};
}

template <typename T>
ops::Value GraphBuilder::NewLiteral(std::string_view name, DType dtype, const std::vector<T>& values,
                                    const std::vector<int64_t>& dims) {
  auto tensor = std::make_shared<Tensor>(dtype, dims);
  PLINTH_CHECK_EQ(tensor->size(), static_cast<int64_t>(values.size()));
  std::copy(values.begin(), values.end(), tensor->data<T>());
  const int id = NewValue({dtype, Shape(dims.begin(), dims.end())}, ValueKind::kConstant, Path(name));
  graph_.values.back().literal = std::move(tensor);
  return {id};
}

ops::Value GraphBuilder::Literal(std::string_view name, const std::vector<float>& values,
                                 std::vector<int64_t> dims) {
  return NewLiteral(name, DType::kF32, values, dims);
}

ops::Value GraphBuilder::LiteralI32(std::string_view name, const std::vector<int32_t>& values,
                                    std::vector<int64_t> dims) {
  return NewLiteral(name, DType::kI32, values, dims);
}

}  // namespace plinth::graph
