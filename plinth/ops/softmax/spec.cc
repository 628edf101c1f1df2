#include "plinth/ops/softmax/cpu.h"
#include "plinth/ops/softmax/op.h"

namespace plinth::ops {
namespace {

StatusOr<std::vector<ValueType>> Infer(const OpCall& call) {
  const ValueType& x = call.in(0);
  if (x.dtype != DType::kF32) {
    return Refuse(call, StrCat("x is ", DTypeName(x.dtype), "; f32 is supported"));
  }
  if (x.shape.empty()) return Refuse(call, "x is a scalar; it needs at least one dimension");
  return std::vector<ValueType>{x};
}

// Per element: a comparison, a subtraction, an exponential (counted as 8), a sum and a division.
Cost CostOf(const OpCall&, absl::Span<const View> in, absl::Span<const View> out) {
  return {12.0 * static_cast<double>(in[0].size()), 0, Bytes(in) + Bytes(out)};
}

int64_t Pieces(const View* in, const View*, const Params&) {
  return PiecesOf(in[0].rows(), RowsPerPiece(in[0].last()));
}

}  // namespace

const OpSpec& SoftmaxSpec() {
  static const OpSpec spec{
      .name = "softmax",
      .summary = "weights that sum to one along the last dimension",
      .inputs = {{"x", false, Layout::kRows}},
      .infer = Infer,
      .cost = CostOf,
      .in_place = 1,
      .rows_independent = true,
      .cpu = {{.name = "f32", .run = PLINTH_CPU_FNS(SoftmaxF32), .refuse = nullptr, .pieces = Pieces}},
  };
  return spec;
}

}  // namespace plinth::ops
