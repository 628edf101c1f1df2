// Names the activations that a matrix product applies to its sums while they are hot.
#pragma once

#include <cstdint>

namespace plinth::ops {

// kSwiglu halves the columns: silu(h[:F]) * h[F:2F].
enum class Activation : int32_t { kNone, kRelu, kGelu, kGeluTanh, kSilu, kSigmoid, kTanh, kSwiglu };
inline constexpr int kActivations = 8;
inline constexpr const char* kActivationNames[kActivations] = {"none", "relu",    "gelu", "gelu_tanh",
                                                               "silu", "sigmoid", "tanh", "swiglu"};

}  // namespace plinth::ops
