// Sets up one matrix product with packed weights, to be timed by our kernel and by oneDNN.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plinth/base/threads.h"
#include "plinth/ops/cpu_step.h"
#include "plinth/ops/linear/onednn_product.h"
#include "plinth/tensor/tensor.h"

namespace plinth::measure {

struct ProductShape {
  int64_t rows, depth, columns;
  double flops() const {
    return 2.0 * static_cast<double>(rows) * static_cast<double>(depth) * static_cast<double>(columns);
  }
  // Read and written once.
  double bytes() const { return 4.0 * static_cast<double>(rows * depth + depth * columns + rows * columns); }
};

// y = x W^T on random normal data.
class Product {
 public:
  // kernel: one of linear's; empty for the one that a plan would take. `parts` is how many row ranges
  // oneDNN works on side by side; 1 to time one thread.
  // Errors: Unimplemented where no kernel or oneDNN takes the shape.
  static StatusOr<Product> Make(const ProductShape& shape, Isa isa, std::string_view kernel, int parts);

  const std::string& kernel() const { return kernel_; }
  const char* referee() const { return onednn_[0].implementation(); }

  // On the calling thread.
  void RunOwn();
  void RunOneDnn();
  // On all threads.
  void RunOwn(Threads& threads);
  void RunOneDnn(Threads& threads);

  // The largest |own - oneDNN| of the results of the last runs, relative to the largest |oneDNN|: a guard
  // against timing a kernel that computes something else.
  double Difference() const;

 private:
  Product() = default;
  void RunPart(int64_t part, int worker);
  std::byte* ScratchOf(int worker);

  ProductShape shape_{};
  std::string kernel_;
  Tensor x_, weight_, own_out_, onednn_out_;
  ops::CpuStep step_;
  std::vector<ops::OneDnnProduct> onednn_;  // equal parts, and the rest if there is one
  int64_t part_rows_ = 0, parts_ = 0;
  int64_t scratch_bytes_ = 0;
  std::vector<AlignedBytes> scratch_;
};

}  // namespace plinth::measure
