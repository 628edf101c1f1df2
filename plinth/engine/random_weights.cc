#include "plinth/engine/random_weights.h"

#include <algorithm>
#include <cmath>

#include "plinth/base/random.h"
#include "plinth/base/text.h"

namespace plinth::engine {
namespace {

// FNV-1a (Fowler, Noll, Vo): the same seed for a name on every platform.
uint64_t SeedOf(std::string_view name) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

void FillUniform(float* x, int64_t count, double deviation, uint64_t seed) {
  SplitMix64 random(seed);
  // A uniform number in [-1, 1) has the standard deviation 1 / sqrt(3).
  const float scale = static_cast<float>(deviation * std::sqrt(3.0)) * 0x1p-31f;
  for (int64_t i = 0; i < count; ++i) {
    const auto bits = static_cast<int32_t>(random.Next() >> 32);
    x[i] = scale * static_cast<float>(bits);
  }
}

}  // namespace

StatusOr<View> RandomWeights::Load(const std::string& name, const ValueType& type) {
  if (type.dtype != DType::kF32) {
    return absl::UnimplementedError(
        StrCat("random weight \"", name, "\" would be ", DTypeName(type.dtype), "; only f32 is made up"));
  }
  if (const auto it = tensors_.find(name); it != tensors_.end()) return it->second.view();
  PLINTH_ASSIGN_OR_RETURN(const std::vector<int64_t> dims, Resolve(type.shape, {}));
  Tensor tensor(DType::kF32, dims);
  float* x = tensor.data<float>();
  if (dims.size() >= 2) {
    FillUniform(x, tensor.size(), 1 / std::sqrt(static_cast<double>(std::max<int64_t>(1, dims.back()))),
                SeedOf(name));
  } else if (name.ends_with("bias")) {
    FillUniform(x, tensor.size(), 0.1, SeedOf(name));
  } else {
    std::fill_n(x, tensor.size(), 1.0f);
  }
  return tensors_.emplace(name, std::move(tensor)).first->second.view();
}

}  // namespace plinth::engine
