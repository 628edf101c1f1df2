#include "plinth/plan/weights.h"

#include <cstring>

namespace plinth::plan {

StatusOr<View> Weights::Load(const graph::GraphValue& value) {
  if (value.literal != nullptr) return value.literal->view();
  if (source_ == nullptr) {
    return absl::NotFoundError(StrCat("weight \"", value.name, "\" is needed, but no weights were given"));
  }
  std::lock_guard lock(mutex_);
  return source_->Load(value.name, value.type);
}

StatusOr<View> Weights::Keep(const graph::GraphValue& value) {
  if (value.literal != nullptr) return value.literal->view();
  {
    std::lock_guard lock(mutex_);
    if (const auto it = kept_.find(value.name); it != kept_.end()) return it->second->view();
  }
  PLINTH_ASSIGN_OR_RETURN(const View loaded, Load(value));
  auto copy =
      std::make_shared<Tensor>(loaded.dtype, std::vector<int64_t>(loaded.dims, loaded.dims + loaded.rank));
  if (copy->bytes() > 0) std::memcpy(copy->raw(), loaded.data, static_cast<size_t>(copy->bytes()));
  std::lock_guard lock(mutex_);
  return kept_.emplace(value.name, std::move(copy)).first->second->view();
}

StatusOr<ops::CpuKernel::Prepared> Weights::Prepare(const std::string& key, ops::PrepareCache::Make make) {
  {
    std::lock_guard lock(mutex_);
    if (const auto it = prepared_.find(key); it != prepared_.end()) return it->second;
  }
  PLINTH_ASSIGN_OR_RETURN(ops::CpuKernel::Prepared made, make());
  std::lock_guard lock(mutex_);
  return prepared_.emplace(key, std::move(made)).first->second;
}

void Weights::Release(const graph::GraphValue& value) {
  if (value.literal != nullptr || source_ == nullptr) return;
  std::lock_guard lock(mutex_);
  source_->Release(value.name);
}

int64_t Weights::bytes() const {
  std::lock_guard lock(mutex_);
  int64_t total = 0;
  for (const auto& [name, tensor] : kept_) total += tensor->bytes();
  for (const auto& [key, prepared] : prepared_) total += prepared.bytes;
  return total;
}

}  // namespace plinth::plan
