// Declares reduce: one number from all elements along some axes.
#pragma once

#include "plinth/ops/builder.h"

namespace plinth::ops {

const OpSpec& ReduceSpec();

// y = function over `axes` of x (negative ones count from the end; none given means all). x: f32, any
// shape. The reduced dimensions go, or stay as 1 with `keep`.
//   sum, mean, prod   computed in double and rounded once; of nothing: 0, NaN, 1
//   max, min          NaN where there is one, -0 < +0; of nothing: -infinity, +infinity
// The order of summation is fixed by the reduced dimensions alone, so a result's bits depend neither on
// the other dimensions nor on the layout in memory.
inline Value Reduce(Builder& b, std::string_view function, Value x, std::vector<int64_t> axes,
                    bool keep = false) {
  return b.Add1(ReduceSpec(), {x},
                {{"function", std::string(function)}, {"axes", std::move(axes)}, {"keep", keep}});
}

inline Value ReduceSum(Builder& b, Value x, std::vector<int64_t> axes, bool keep = false) {
  return Reduce(b, "sum", x, std::move(axes), keep);
}
inline Value ReduceMean(Builder& b, Value x, std::vector<int64_t> axes, bool keep = false) {
  return Reduce(b, "mean", x, std::move(axes), keep);
}
inline Value ReduceMax(Builder& b, Value x, std::vector<int64_t> axes, bool keep = false) {
  return Reduce(b, "max", x, std::move(axes), keep);
}
inline Value ReduceMin(Builder& b, Value x, std::vector<int64_t> axes, bool keep = false) {
  return Reduce(b, "min", x, std::move(axes), keep);
}
inline Value ReduceProd(Builder& b, Value x, std::vector<int64_t> axes, bool keep = false) {
  return Reduce(b, "prod", x, std::move(axes), keep);
}

}  // namespace plinth::ops
