#include "plinth/ops/concat/cpu.h"
#include "plinth/ops/concat/op.h"
#include "plinth/ops/copy_plan.h"

namespace plinth::ops {
namespace {

// a + b, as far as a dimension can express it.
StatusOr<Dim> Sum(const OpCall& call, const Dim& a, const Dim& b) {
  if (!a.constant() && !b.constant() && a.name() != b.name()) {
    return Refuse(call, StrCat("the lengths ", a.ToString(), " and ", b.ToString(),
                               " along the axis add up to no single named dimension"));
  }
  int64_t scale = 0, offset = 0;
  if (__builtin_add_overflow(a.scale(), b.scale(), &scale) ||
      __builtin_add_overflow(a.offset(), b.offset(), &offset)) {
    return Refuse(call, StrCat("the lengths ", a.ToString(), " and ", b.ToString(), " do not fit 63 bits"));
  }
  const std::string& name = a.constant() ? b.name() : a.name();
  return name.empty() ? Dim(offset) : Dim::Named(name, scale, offset);
}

StatusOr<std::vector<ValueType>> Infer(const OpCall& call) {
  ValueType y = call.in(0);
  if (y.shape.empty()) return Refuse(call, "the inputs are scalars; they need at least one dimension");
  PLINTH_ASSIGN_OR_RETURN(const int64_t axis, NormalAxis(call, call.attributes.Int("axis"), y.shape.size()));
  for (size_t i = 1; i < call.inputs.size(); ++i) {
    if (!call.has(i)) return Refuse(call, StrCat("input ", i, " is missing"));
    const ValueType& x = call.in(i);
    Shape expected = y.shape;
    if (x.shape.size() == expected.size()) expected[axis] = x.shape[axis];
    if (x.dtype != y.dtype || x.shape != expected) {
      return Refuse(call, StrCat("input ", i, " is ", ToString(x), "; beside ", ToString(call.in(0)),
                                 " it may differ along axis ", axis, " only"));
    }
    PLINTH_ASSIGN_OR_RETURN(y.shape[axis], Sum(call, y.shape[axis], x.shape[axis]));
  }
  return std::vector<ValueType>{y};
}

Cost CostOf(const OpCall&, absl::Span<const View>, absl::Span<const View> out) {
  return {0, 0, 2 * Bytes(out)};
}

Params ParamsOf(const OpCall& call) {
  const int64_t axis = *NormalAxis(call, call.attributes.Int("axis"), call.in(0).shape.size());
  return Params::Of(ConcatParams{static_cast<int32_t>(axis), static_cast<int32_t>(call.inputs.size())});
}

int64_t Pieces(const View* in, const View* out, const Params& params) {
  ConcatParams p;
  std::memcpy(&p, params.bytes, sizeof(p));
  int64_t pieces = 0;
  for (int32_t i = 0; i < p.count; ++i) pieces += PlanCopy(in[i], TargetOf(p, in[i], out[0], 0)).pieces;
  return pieces;
}

}  // namespace

const OpSpec& ConcatSpec() {
  static const OpSpec spec{
      .name = "concat",
      .summary = "tensors one after the other along one axis",
      .inputs = {{"x", false, Layout::kAny}},
      .variadic = true,
      .attributes = {{"axis", AttrKind::kInt, "an integer in [-rank, rank), default 0"}},
      .infer = Infer,
      .cost = CostOf,
      .cpu = {{.name = "copy",
               .run = PLINTH_CPU_FNS(ConcatAny),
               .refuse = nullptr,
               .params = ParamsOf,
               .pieces = Pieces}},
  };
  return spec;
}

}  // namespace plinth::ops
