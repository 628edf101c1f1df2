#include <cmath>

#include "plinth/ops/layer_norm/cpu.h"
#include "plinth/ops/layer_norm/op.h"

namespace plinth::ops {
namespace {

StatusOr<std::vector<ValueType>> Infer(const OpCall& call) {
  const ValueType& x = call.in(0);
  if (x.dtype != DType::kF32) {
    return Refuse(call, StrCat("x is ", DTypeName(x.dtype), "; f32 is supported"));
  }
  if (x.shape.empty()) return Refuse(call, "x is a scalar; it needs at least one dimension");
  const double eps = call.attributes.Real("eps", 1e-5);
  if (!std::isfinite(eps) || eps < 0) {
    return Refuse(call, StrCat("eps is ", eps, "; a finite number of at least 0 is needed"));
  }
  for (size_t i : {1, 2}) {
    if (call.has(i) && (call.in(i).dtype != DType::kF32 || call.in(i).shape != Shape{x.shape.back()})) {
      return Refuse(call, StrCat(call.spec->inputs[i].name, " is ", ToString(call.in(i)), "; f32[",
                                 x.shape.back().ToString(), "] is needed, the last dimension of x"));
    }
  }
  return std::vector<ValueType>{x};
}

Params ParamsOf(const OpCall& call) { return Params::Of(LayerNormParams{call.attributes.Real("eps", 1e-5)}); }

// Per element: three sums, a square, two products and a difference.
Cost CostOf(const OpCall&, absl::Span<const View> in, absl::Span<const View> out) {
  return {7.0 * static_cast<double>(in[0].size()), 0, Bytes(in) + Bytes(out)};
}

int64_t Pieces(const View* in, const View*, const Params&) {
  return PiecesOf(in[0].rows(), RowsPerPiece(in[0].last()));
}

}  // namespace

const OpSpec& LayerNormSpec() {
  static const OpSpec spec{
      .name = "layer_norm",
      .summary = "rows centred and divided by their standard deviation",
      .inputs = {{"x", false, Layout::kRows}, {"weight", true}, {"bias", true}},
      .attributes = {{"eps", AttrKind::kReal, "a finite number >= 0, added to the variance; 1e-5"}},
      .infer = Infer,
      .cost = CostOf,
      .in_place = 1,
      .rows_independent = true,
      .cpu = {{.name = "f32",
               .run = PLINTH_CPU_FNS(LayerNormF32),
               .refuse = nullptr,
               .params = ParamsOf,
               .pieces = Pieces}},
  };
  return spec;
}

}  // namespace plinth::ops
