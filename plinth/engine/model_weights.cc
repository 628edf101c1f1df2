#include "plinth/engine/model_weights.h"

namespace plinth::engine {
namespace {

// The first element that is not finite, or -1.
int64_t FirstNotFinite(const float* x, int64_t count) {
  // Adds up what overflows: x - x is 0 for finite x and NaN else, which the sum keeps.
  float sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += x[i] - x[i];
  if (sum == 0) return -1;
  int64_t i = 0;
  while (i < count && x[i] - x[i] == 0) ++i;
  return i;
}

}  // namespace

StatusOr<std::shared_ptr<ModelWeights>> ModelWeights::Open(const std::string& folder) {
  PLINTH_ASSIGN_OR_RETURN(formats::ModelFolder opened, formats::ModelFolder::Open(folder));
  return std::shared_ptr<ModelWeights>(new ModelWeights(std::move(opened)));
}

Status ModelWeights::Check(const graph::Graph& graph, const std::vector<std::string>& ignored) const {
  std::vector<formats::ExpectedTensor> expected;
  for (const int v : graph.Weights()) {
    const graph::GraphValue& value = graph.values[static_cast<size_t>(v)];
    PLINTH_ASSIGN_OR_RETURN(std::vector<int64_t> dims, Resolve(value.type.shape, {}));
    expected.push_back({value.name, std::move(dims)});
  }
  return formats::CheckTensors(expected, folder_.weights(), ignored);
}

StatusOr<View> ModelWeights::Load(const std::string& name, const ValueType& type) {
  PLINTH_ASSIGN_OR_RETURN(const View view, LoadUnchecked(name, type));
  if (type.dtype != DType::kF32 || checked_.count(name) > 0) return view;
  if (const int64_t at = FirstNotFinite(view.as<float>(), view.size()); at >= 0) {
    return absl::DataLossError(StrCat(folder_.path(), ": tensor \"", name, "\" holds ", view.as<float>()[at],
                                      " at element ", at,
                                      "; weights must be finite, so the file is damaged"));
  }
  checked_.insert(name);
  return view;
}

StatusOr<View> ModelWeights::LoadUnchecked(const std::string& name, const ValueType& type) {
  const formats::ConstTensorRef* tensor = folder_.weights().Find(name);
  if (tensor == nullptr) {
    return absl::NotFoundError(StrCat(folder_.path(), ": tensor \"", name, "\" is missing"));
  }
  PLINTH_RETURN_IF_ERROR(folder_.weights().Fetch(*tensor));
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
  if (const formats::ConstTensorRef* tensor = folder_.weights().Find(name)) {
    folder_.weights().ReleasePages(*tensor);
    folder_.weights().Forget(*tensor);
  }
}

}  // namespace plinth::engine
