// Declares gather: picks rows of a table by index.
#pragma once

#include "plinth/ops/builder.h"

namespace plinth::ops {

const OpSpec& GatherSpec();

// y[i...] = data[index[i...]] along dimension 0. data: any type, [N, ...]; index: i32 or i64, any shape
// (a scalar too). Returns index's dimensions followed by those of data without the first.
// An index outside [0, N), negative ones included, is a fault; its rows become zero bytes.
inline Value Gather(Builder& b, Value data, Value index) { return b.Add1(GatherSpec(), {data, index}); }

}  // namespace plinth::ops
