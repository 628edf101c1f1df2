#include "plinth/ops/copy_plan.h"
#include "plinth/ops/permute/cpu.h"
#include "plinth/ops/permute/op.h"

namespace plinth::ops {
namespace {

StatusOr<PermuteParams> AxesOf(const OpCall& call) {
  const std::vector<int64_t> axes = call.attributes.Ints("axes");
  const size_t rank = call.in(0).shape.size();
  const auto refused = [&](std::string_view why) {
    return Refuse(call, StrCat("axes is [", Join(axes, ", "), "]; ", why));
  };
  if (axes.size() != rank) return refused(StrCat("x has ", rank, " dimensions"));
  PermuteParams p;
  bool seen[kMaxRank] = {};
  for (size_t d = 0; d < rank; ++d) {
    PLINTH_ASSIGN_OR_RETURN(const int64_t axis, NormalAxis(call, axes[d], rank));
    if (seen[axis]) return refused(StrCat("axis ", axis, " is there twice"));
    seen[axis] = true;
    p.axes[d] = static_cast<int32_t>(axis);
  }
  return p;
}

StatusOr<std::vector<ValueType>> Infer(const OpCall& call) {
  PLINTH_ASSIGN_OR_RETURN(const PermuteParams p, AxesOf(call));
  const ValueType& x = call.in(0);
  ValueType y{x.dtype, {}};
  for (size_t d = 0; d < x.shape.size(); ++d) y.shape.push_back(x.shape[p.axes[d]]);
  return std::vector<ValueType>{y};
}

Cost CostOf(const OpCall&, absl::Span<const View>, absl::Span<const View> out) {
  return {0, 0, 2 * Bytes(out)};
}

bool ViewOf(const OpCall& call, const View& in, View* out) {
  *out = PermutedView(*AxesOf(call), in, *out);
  return true;
}

Params ParamsOf(const OpCall& call) { return Params::Of(*AxesOf(call)); }

int64_t Pieces(const View* in, const View* out, const Params& params) {
  PermuteParams p;
  std::memcpy(&p, params.bytes, sizeof(p));
  return PlanCopy(PermutedView(p, in[0], out[0]), out[0]).pieces;
}

}  // namespace

const OpSpec& PermuteSpec() {
  static const OpSpec spec{
      .name = "permute",
      .summary = "dimensions in another order",
      .inputs = {{"x", false, Layout::kAny}},
      .attributes = {{"axes", AttrKind::kInts, "each axis of x once, in the order of the output"}},
      .infer = Infer,
      .cost = CostOf,
      .view = ViewOf,
      .cpu = {{.name = "copy",
               .run = PLINTH_CPU_FNS(PermuteAny),
               .refuse = nullptr,
               .params = ParamsOf,
               .pieces = Pieces}},
  };
  return spec;
}

}  // namespace plinth::ops
