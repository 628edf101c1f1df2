// Owns a dense, 64-byte aligned block of elements.
#pragma once

#include <cstdlib>
#include <memory>
#include <vector>

#include "plinth/base/check.h"
#include "plinth/tensor/dtype.h"
#include "plinth/tensor/view.h"

namespace plinth {

inline constexpr int64_t kAlignment = 64;  // bytes; one cache line, one AVX-512 register

// 64-byte aligned bytes, uninitialised; null when memory is short.
using AlignedBytes = std::unique_ptr<std::byte[], decltype(&std::free)>;
AlignedBytes AllocateAligned(int64_t bytes);

class Tensor {
 public:
  Tensor() : data_(nullptr, &std::free) {}
  // Zero-initialised.
  Tensor(DType dtype, std::vector<int64_t> dims);

  DType dtype() const { return dtype_; }
  const std::vector<int64_t>& dims() const { return dims_; }
  int64_t size() const { return size_; }
  int64_t bytes() const { return size_ * SizeOf(dtype_); }
  View view() const { return DenseView(data_.get(), dtype_, dims_.data(), static_cast<int>(dims_.size())); }
  template <typename T>
  T* data() const {
    PLINTH_CHECK_EQ(static_cast<int64_t>(sizeof(T)), SizeOf(dtype_));
    return reinterpret_cast<T*>(data_.get());
  }
  void* raw() const { return data_.get(); }

 private:
  DType dtype_ = DType::kF32;
  std::vector<int64_t> dims_;
  int64_t size_ = 0;
  AlignedBytes data_;
};

}  // namespace plinth
