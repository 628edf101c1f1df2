// Multiplies rows with a packed weight by oneDNN: the referee of our own kernel, and its stand-in.
#pragma once

#include <cstdint>
#include <memory>

#include "absl/types/span.h"
#include "plinth/base/status.h"

namespace plinth::ops {

// y = x W^T for a fixed number of rows, weights packed as oneDNN likes best. May be run from several
// threads at once. The instruction set is oneDNN's choice for the process (ONEDNN_MAX_CPU_ISA).
class OneDnnProduct {
 public:
  // weight: f32 [n, k], dense; read only here. Rows of x and y lie x_stride and y_stride floats apart.
  // m, n, k >= 1. Packed weights are shared with one of `others` (products of the same weight) that packs
  // them alike. Errors: Unimplemented where oneDNN refuses.
  static StatusOr<OneDnnProduct> Make(int64_t m, int64_t n, int64_t k, const float* weight, int64_t x_stride,
                                      int64_t y_stride, absl::Span<const OneDnnProduct> others = {});
  OneDnnProduct(OneDnnProduct&&) noexcept;
  OneDnnProduct& operator=(OneDnnProduct&&) noexcept;
  ~OneDnnProduct();

  int64_t rows() const;
  int64_t scratch_bytes() const;
  // Bytes of packed weights that are not shared.
  int64_t owned_bytes() const;
  // oneDNN's name for the implementation, such as "brg:avx512_core".
  const char* implementation() const;

  // scratch: scratch_bytes() bytes, the caller's own. Allocates small objects (oneDNN's interface).
  // Error: Internal with oneDNN's status.
  Status Run(const float* x, float* y, std::byte* scratch) const;

 private:
  struct Impl;
  explicit OneDnnProduct(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace plinth::ops
