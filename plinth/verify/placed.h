// Lays tensors out in memory the way a case asks, inside guards that show reads and writes outside.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "plinth/ops/checks.h"
#include "plinth/tensor/tensor.h"

namespace plinth::verify {

// Reads or writes one element as a double. f16 and bf16 are rounded once; i64 beyond 2^53 loses digits.
double LoadElement(DType dtype, const void* at);
void StoreElement(DType dtype, void* at, double value);

// Calls body(index, offset in elements) for each element of `view`, in row-major order.
template <typename Body>
void ForEachElement(const View& view, Body body) {
  const int64_t size = view.size();
  int64_t at[kMaxRank] = {};
  int64_t offset = 0;
  for (int64_t i = 0; i < size; ++i) {
    body(i, offset);
    for (int d = view.rank - 1; d >= 0; --d) {
      offset += view.strides[d];
      if (++at[d] < view.dims[d]) break;
      offset -= view.strides[d] * view.dims[d];
      at[d] = 0;
    }
  }
}

// A block of memory with one tensor in it. Every byte that is not the tensor's holds `guard`.
class Placed {
 public:
  Placed() : storage_(nullptr, &std::free) {}
  // Elements all hold bytes `fill`; bytes around and between them `guard`.
  Placed(DType dtype, const std::vector<int64_t>& dims, ops::Place place, uint8_t fill, uint8_t guard);
  // Holds the elements of `source`.
  Placed(DType dtype, const ops::RefTensor& source, ops::Place place, uint8_t guard);

  const View& view() const { return view_; }
  std::byte* storage() const { return storage_.get(); }
  int64_t storage_bytes() const { return storage_bytes_; }
  void* element(int64_t offset) const {
    return static_cast<std::byte*>(view_.data) + offset * SizeOf(view_.dtype);
  }

  // "" when all guards are whole; else which byte was written, relative to the tensor.
  std::string Damage() const;
  // "" when elements and guards are as they were at construction.
  std::string Change() const;
  // Overwrites the elements with bytes `fill` (weights that a kernel claims to have packed).
  void Poison(uint8_t fill);

 private:
  void Allocate(DType dtype, const std::vector<int64_t>& dims, ops::Place place, uint8_t guard);

  View view_;
  AlignedBytes storage_;
  int64_t storage_bytes_ = 0;
  uint8_t guard_ = 0;
  std::vector<std::byte> original_;  // the whole storage, where the elements are given
  std::vector<bool> owned_;          // bytes that belong to elements; empty where they are one block
  int64_t first_ = 0, last_ = 0;     // byte range of the elements in the storage
};

}  // namespace plinth::verify
