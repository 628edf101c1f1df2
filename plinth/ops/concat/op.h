// Declares concat: joins tensors along one axis.
#pragma once

#include "plinth/ops/builder.h"

namespace plinth::ops {

const OpSpec& ConcatSpec();

// y = the inputs one after the other along `axis` (negative counts from the end). All have one type (any)
// and one rank >= 1 and differ along `axis` only. There the lengths must add up to a dimension: constants
// and multiples of one name ([tokens] and [1] give [tokens+1]).
inline Value Concat(Builder& b, std::vector<Value> inputs, int64_t axis) {
  return b.Add1(ConcatSpec(), std::move(inputs), {{"axis", axis}});
}

}  // namespace plinth::ops
