#include <cmath>

#include "plinth/ops/rms_norm/cpu.h"
#include "plinth/ops/rms_norm/op.h"

namespace plinth::ops {
namespace {

StatusOr<std::vector<ValueType>> Infer(const OpCall& call) {
  const ValueType& x = call.in(0);
  if (x.dtype != DType::kF32) {
    return Refuse(call, StrCat("x is ", DTypeName(x.dtype), "; f32 is supported"));
  }
  if (x.shape.empty()) return Refuse(call, "x is a scalar; it needs at least one dimension");
  const double eps = call.attributes.Real("eps", 1e-6);
  if (!std::isfinite(eps) || eps < 0) {
    return Refuse(call, StrCat("eps is ", eps, "; a finite number of at least 0 is needed"));
  }
  if (call.has(1)) {
    const ValueType& weight = call.in(1);
    if (weight.dtype != DType::kF32 || weight.shape != Shape{x.shape.back()}) {
      return Refuse(call, StrCat("weight is ", ToString(weight), "; f32[", x.shape.back().ToString(),
                                 "] is needed, the last dimension of x"));
    }
  }
  return std::vector<ValueType>{x};
}

Params ParamsOf(const OpCall& call) { return Params::Of(RmsNormParams{call.attributes.Real("eps", 1e-6)}); }

// Per element: a square, a sum and two products.
Cost CostOf(const OpCall&, absl::Span<const View> in, absl::Span<const View> out) {
  return {4.0 * static_cast<double>(in[0].size()), 0, Bytes(in) + Bytes(out)};
}

int64_t Pieces(const View* in, const View*, const Params&) {
  return PiecesOf(in[0].rows(), RowsPerPiece(in[0].last()));
}

}  // namespace

const OpSpec& RmsNormSpec() {
  static const OpSpec spec{
      .name = "rms_norm",
      .summary = "rows divided by their root mean square",
      .inputs = {{"x", false, Layout::kRows}, {"weight", true}},
      .attributes = {{"eps", AttrKind::kReal, "a finite number >= 0, added to the mean square; 1e-6"}},
      .infer = Infer,
      .cost = CostOf,
      .in_place = 1,
      .rows_independent = true,
      .cpu = {{.name = "f32",
               .run = PLINTH_CPU_FNS(RmsNormF32),
               .refuse = nullptr,
               .params = ParamsOf,
               .pieces = Pieces}},
  };
  return spec;
}

}  // namespace plinth::ops
