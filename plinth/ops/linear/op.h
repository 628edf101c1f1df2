// Declares linear: multiplies rows with a weight, with bias, activation and residual in the same pass.
#pragma once

#include "plinth/ops/builder.h"
#include "plinth/ops/linear/activation.h"

namespace plinth::ops {

const OpSpec& LinearSpec();

struct LinearOptions {
  Activation activation = Activation::kNone;
  Value residual = kNone;  // f32 [..., outputs]
};

// y = activation(x W^T + bias) + residual. x: f32 [..., K]; weight: f32 [N, K], as torch.nn.Linear keeps
// it; bias: f32 [N]; y: f32 [..., N], or [..., N / 2] for kSwiglu, where h = x W^T + bias and
// y = silu(h[..., :N/2]) * h[..., N/2:]. Sums run over K in ascending order; a row's bits depend on
// nothing but the row. Weights known at plan time are packed once.
inline Value Linear(Builder& b, Value x, Value weight, Value bias = kNone,
                    const LinearOptions& options = {}) {
  Attributes attributes;
  if (options.activation != Activation::kNone) {
    attributes.Set("activation", std::string(kActivationNames[static_cast<int>(options.activation)]));
  }
  return b.Add1(LinearSpec(), {x, weight, bias, options.residual}, std::move(attributes));
}

}  // namespace plinth::ops
