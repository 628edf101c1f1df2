// Declares matmul: multiplies matrices, batch by batch.
#pragma once

#include "plinth/ops/builder.h"

namespace plinth::ops {

const OpSpec& MatmulSpec();

struct MatmulOptions {
  bool transpose_a = false;  // a is [..., K, M]
  bool transpose_b = false;  // b is [..., N, K]
};

// y[..., m, n] = sum over k of a[..., m, k] * b[..., k, n], in ascending order of k. f32, rank 2 to 6;
// leading dimensions broadcast as in NumPy. Inputs may lie in any strides. A row's bits depend on nothing
// but the row and b.
inline Value Matmul(Builder& b, Value left, Value right, const MatmulOptions& options = {}) {
  Attributes attributes;
  if (options.transpose_a) attributes.Set("transpose_a", true);
  if (options.transpose_b) attributes.Set("transpose_b", true);
  return b.Add1(MatmulSpec(), {left, right}, std::move(attributes));
}

}  // namespace plinth::ops
