// Declares slice: takes every step-th element of a range along one axis.
#pragma once

#include "plinth/ops/builder.h"

namespace plinth::ops {

const OpSpec& SliceSpec();

// y = x[..., begin:end:step, ...] along `axis`, with the rules of Python: negative begin and end count
// from the end, both are cut to the dimension, an empty range gives a dimension of zero. step >= 1.
// x: any type and rank >= 1. Along a named dimension the range must be there at every extent: a whole
// dimension, or a constant number of elements left out or taken that its offset covers ([tokens+1]
// without the first one is [tokens]). Usually a view that costs nothing.
inline Value Slice(Builder& b, Value x, int64_t axis, int64_t begin, int64_t end, int64_t step = 1) {
  return b.Add1(SliceSpec(), {x}, {{"axis", axis}, {"begin", begin}, {"end", end}, {"step", step}});
}

// The same to the end of the axis.
inline Value SliceFrom(Builder& b, Value x, int64_t axis, int64_t begin, int64_t step = 1) {
  return b.Add1(SliceSpec(), {x}, {{"axis", axis}, {"begin", begin}, {"step", step}});
}

}  // namespace plinth::ops
