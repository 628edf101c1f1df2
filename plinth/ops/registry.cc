#include "plinth/ops/registry.h"

#include "plinth/ops/attention/op.h"
#include "plinth/ops/binary/op.h"
#include "plinth/ops/cast/op.h"
#include "plinth/ops/concat/op.h"
#include "plinth/ops/cumsum/op.h"
#include "plinth/ops/gather/op.h"
#include "plinth/ops/layer_norm/op.h"
#include "plinth/ops/linear/op.h"
#include "plinth/ops/matmul/op.h"
#include "plinth/ops/pad/op.h"
#include "plinth/ops/permute/op.h"
#include "plinth/ops/reduce/op.h"
#include "plinth/ops/reshape/op.h"
#include "plinth/ops/rms_norm/op.h"
#include "plinth/ops/rotary/op.h"
#include "plinth/ops/slice/op.h"
#include "plinth/ops/softmax/op.h"
#include "plinth/ops/sort/op.h"
#include "plinth/ops/top_k/op.h"
#include "plinth/ops/unary/op.h"

namespace plinth::ops {

const std::vector<const OpSpec*>& AllOps() {
  // One operator a line, so that changes beside each other merge.
  // clang-format off
  static const std::vector<const OpSpec*> ops = {
      &AttentionSpec(),
      &BinarySpec(),
      &CastSpec(),
      &ConcatSpec(),
      &CumsumSpec(),
      &GatherSpec(),
      &LayerNormSpec(),
      &LinearSpec(),
      &MatmulSpec(),
      &PadSpec(),
      &PermuteSpec(),
      &ReduceSpec(),
      &ReshapeSpec(),
      &RmsNormSpec(),
      &RotarySpec(),
      &SliceSpec(),
      &SoftmaxSpec(),
      &SortSpec(),
      &TopKSpec(),
      &UnarySpec(),
  };
  // clang-format on
  return ops;
}

const OpSpec* FindOp(std::string_view name) {
  for (const OpSpec* op : AllOps()) {
    if (name == op->name) return op;
  }
  return nullptr;
}

}  // namespace plinth::ops
