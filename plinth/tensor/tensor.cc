#include "plinth/tensor/tensor.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "plinth/tensor/resident.h"

namespace plinth {

AlignedBytes AllocateAligned(int64_t bytes) {
  if (bytes > kMostBytes) return {nullptr, &std::free};
  const int64_t rounded = (std::max<int64_t>(bytes, 1) + kAlignment - 1) / kAlignment * kAlignment;
  auto* p = static_cast<std::byte*>(std::aligned_alloc(kAlignment, static_cast<size_t>(rounded)));
  return AlignedBytes(p, &std::free);
}

Tensor::Tensor(DType dtype, std::vector<int64_t> dims)
    : dtype_(dtype), dims_(std::move(dims)), data_(nullptr, &std::free) {
  PLINTH_CHECK_LE(dims_.size(), static_cast<size_t>(kMaxRank));
  size_ = 1;
  for (int64_t d : dims_) size_ *= d;
  data_ = AllocateAligned(bytes());
  if (data_ == nullptr) throw std::bad_alloc();
  std::memset(data_.get(), 0, static_cast<size_t>(bytes()));
}

}  // namespace plinth
