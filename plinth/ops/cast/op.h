// Declares cast: converts elements to another type.
#pragma once

#include <string>

#include "plinth/ops/builder.h"

namespace plinth::ops {

const OpSpec& CastSpec();

// y = x converted to type `to`, same shape; every pair of types.
// To a floating type: rounded once, to nearest, ties to even; too large becomes infinity, NaN stays NaN,
// zeros keep their sign. To an integer type: cut towards zero, then clamped to its range, NaN gives 0
// (C leaves this open and PyTorch wraps; a clamp is the same on every device). To bool: x != 0, so NaN
// is true. From bool: 0 or 1. To its own type: a copy of the bits.
inline Value Cast(Builder& b, Value x, DType to) {
  return b.Add1(CastSpec(), {x}, {{"to", std::string(DTypeName(to))}});
}

}  // namespace plinth::ops
