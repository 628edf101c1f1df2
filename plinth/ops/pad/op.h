// Declares pad: puts elements before and after each dimension.
#pragma once

#include "plinth/ops/builder.h"

namespace plinth::ops {

const OpSpec& PadSpec();

// y has before[d] elements in front of dimension d of x and after[d] behind it (both >= 0, one each per
// dimension). x: any type, rank >= 1. What they hold depends on `mode`:
//   constant  `value`, which the type must hold exactly where it is an integer type (bool: 0 or 1)
//   edge      the nearest element of x; the dimension is not empty
//   reflect   x mirrored about its first and last element, which are not repeated; at most n - 1 elements
// With a named dimension, edge and reflect must be possible at every extent.
inline Value Pad(Builder& b, Value x, std::vector<int64_t> before, std::vector<int64_t> after,
                 double value = 0, std::string_view mode = "constant") {
  return b.Add1(PadSpec(), {x},
                {{"before", std::move(before)},
                 {"after", std::move(after)},
                 {"value", value},
                 {"mode", std::string(mode)}});
}

}  // namespace plinth::ops
