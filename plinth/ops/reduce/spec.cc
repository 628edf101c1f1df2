#include "plinth/ops/reduce/cpu.h"
#include "plinth/ops/reduce/op.h"

namespace plinth::ops {
namespace {

constexpr std::string_view kNames[kReduceFunctions] = {"sum", "mean", "max", "min", "prod"};

StatusOr<ReduceParams> ParamsFor(const OpCall& call) {
  const std::string function = call.attributes.Text("function");
  int index = 0;
  while (index < kReduceFunctions && function != kNames[index]) ++index;
  if (index == kReduceFunctions) {
    return Refuse(call, StrCat("function \"", function, "\" is unknown; there are ", Join(kNames, ", ")));
  }
  ReduceParams p{static_cast<ReduceFunction>(index), 0};
  const size_t rank = call.in(0).shape.size();
  for (int64_t a : call.attributes.Ints("axes")) {
    PLINTH_ASSIGN_OR_RETURN(const int64_t axis, NormalAxis(call, a, rank));
    if ((p.axes >> axis & 1) != 0) return Refuse(call, StrCat("axis ", axis, " is in axes twice"));
    p.axes |= 1u << axis;
  }
  if (p.axes == 0) p.axes = (1u << rank) - 1;
  return p;
}

StatusOr<std::vector<ValueType>> Infer(const OpCall& call) {
  const ValueType& x = call.in(0);
  if (x.dtype != DType::kF32) {
    return Refuse(call, StrCat("x is ", DTypeName(x.dtype), "; f32 is supported"));
  }
  PLINTH_ASSIGN_OR_RETURN(const ReduceParams p, ParamsFor(call));
  ValueType y{x.dtype, {}};
  for (size_t d = 0; d < x.shape.size(); ++d) {
    const bool reduced = (p.axes >> d & 1) != 0;
    if (!reduced || call.attributes.Flag("keep")) y.shape.push_back(reduced ? Dim(1) : x.shape[d]);
  }
  return std::vector<ValueType>{y};
}

Cost CostOf(const OpCall&, absl::Span<const View> in, absl::Span<const View> out) {
  return {static_cast<double>(in[0].size()), 0, Bytes(in) + Bytes(out)};
}

Params ParamsOf(const OpCall& call) { return Params::Of(*ParamsFor(call)); }

int64_t Pieces(const View* in, const View*, const Params& params) {
  ReduceParams p;
  std::memcpy(&p, params.bytes, sizeof(p));
  const ReduceGrid g = GridOf(in[0], p.axes);
  return PiecesOf(g.units, g.per_piece);
}

}  // namespace

const OpSpec& ReduceSpec() {
  static const OpSpec spec{
      .name = "reduce",
      .summary = "one number from all elements along some axes",
      .inputs = {{"x", false, Layout::kAny}},
      .attributes = {{"function", AttrKind::kText, "one of sum, mean, max, min, prod"},
                     {"axes", AttrKind::kInts, "integers in [-rank, rank), default all"},
                     {"keep", AttrKind::kFlag, "keeps reduced dimensions as 1, default false"}},
      .infer = Infer,
      .cost = CostOf,
      .cpu = {{.name = "f32",
               .run = PLINTH_CPU_FNS(ReduceF32),
               .refuse = nullptr,
               .params = ParamsOf,
               .pieces = Pieces}},
  };
  return spec;
}

}  // namespace plinth::ops
