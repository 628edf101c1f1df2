// Borrows a strided block of memory: what kernels read and write. Plain data, no allocation.
#pragma once

#include <cstdint>

#include "plinth/tensor/dtype.h"

namespace plinth {

inline constexpr int kMaxRank = 6;

struct View {
  void* data = nullptr;
  DType dtype = DType::kF32;
  int rank = 0;
  int64_t dims[kMaxRank] = {};
  int64_t strides[kMaxRank] = {};  // in elements

  template <typename T>
  T* as() const {
    return static_cast<T*>(data);
  }
  int64_t size() const {
    int64_t n = 1;
    for (int i = 0; i < rank; ++i) n *= dims[i];
    return n;
  }
  int64_t last() const { return rank == 0 ? 1 : dims[rank - 1]; }
  // Product of all dimensions but the last.
  int64_t rows() const {
    int64_t n = 1;
    for (int i = 0; i + 1 < rank; ++i) n *= dims[i];
    return n;
  }
  bool dense() const {
    int64_t expect = 1;
    for (int i = rank - 1; i >= 0; --i) {
      if (dims[i] != 1 && strides[i] != expect) return false;
      expect *= dims[i];
    }
    return true;
  }
  // The last dimension is contiguous and the others collapse to one row stride.
  bool row_strided() const {
    if (rank == 0) return true;
    if (dims[rank - 1] != 1 && strides[rank - 1] != 1) return false;
    for (int i = rank - 3; i >= 0; --i) {
      if (dims[i] != 1 && strides[i] != strides[i + 1] * dims[i + 1]) return false;
    }
    return true;
  }
  // Elements between rows of a row_strided view.
  int64_t row_stride() const { return rank < 2 ? last() : strides[rank - 2]; }
};

// A dense row-major view over `data`.
inline View DenseView(void* data, DType dtype, const int64_t* dims, int rank) {
  View v;
  v.data = data;
  v.dtype = dtype;
  v.rank = rank;
  int64_t stride = 1;
  for (int i = rank - 1; i >= 0; --i) {
    v.dims[i] = dims[i];
    v.strides[i] = stride;
    stride *= dims[i];
  }
  return v;
}

}  // namespace plinth
