#include "plinth/engine/model_weights.h"

namespace plinth::engine {

StatusOr<std::shared_ptr<ModelWeights>> ModelWeights::Open(const std::string& folder) {
  PLINTH_ASSIGN_OR_RETURN(formats::ModelFolder opened, formats::ModelFolder::Open(folder));
  return std::shared_ptr<ModelWeights>(new ModelWeights(std::move(opened)));
}

Status ModelWeights::Check(const graph::Graph& graph) const {
  std::vector<formats::ExpectedTensor> expected;
  for (const int v : graph.Weights()) {
    const graph::GraphValue& value = graph.values[static_cast<size_t>(v)];
    PLINTH_ASSIGN_OR_RETURN(std::vector<int64_t> dims, Resolve(value.type.shape, {}));
    expected.push_back({value.name, std::move(dims)});
  }
  return formats::CheckTensors(expected, folder_.weights());
}

StatusOr<View> ModelWeights::Load(const std::string& name, const ValueType& type) {
  const formats::ConstTensorRef* tensor = folder_.weights().Find(name);
  if (tensor == nullptr) {
    return absl::NotFoundError(StrCat(folder_.path(), ": tensor \"", name, "\" is missing"));
  }
  if (tensor->dtype == type.dtype && tensor->aligned()) {
    return DenseView(const_cast<std::byte*>(tensor->data), tensor->dtype, tensor->dims.data(),
                     static_cast<int>(tensor->dims.size()));
  }
  if (const auto it = converted_.find(name); it != converted_.end()) return it->second.view();
  PLINTH_ASSIGN_OR_RETURN(Tensor copy, formats::CopyTo(*tensor, type.dtype));
  return converted_.emplace(name, std::move(copy)).first->second.view();
}

void ModelWeights::Release(const std::string& name) {
  converted_.erase(name);
  if (const formats::ConstTensorRef* tensor = folder_.weights().Find(name))
    folder_.weights().ReleasePages(*tensor);
}

}  // namespace plinth::engine
