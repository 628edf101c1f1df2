#include "plinth/ops/cumsum/cpu.h"
#include "plinth/ops/cumsum/op.h"

namespace plinth::ops {
namespace {

StatusOr<std::vector<ValueType>> Infer(const OpCall& call) {
  const ValueType& x = call.in(0);
  if (x.dtype != DType::kF32 && x.dtype != DType::kI32 && x.dtype != DType::kI64) {
    return Refuse(call, StrCat("x is ", DTypeName(x.dtype), "; f32, i32 and i64 are supported"));
  }
  if (x.shape.empty()) return Refuse(call, "x is a scalar; it needs at least one dimension");
  PLINTH_RETURN_IF_ERROR(NormalAxis(call, call.attributes.Int("axis"), x.shape.size()).status());
  return std::vector<ValueType>{x};
}

Cost CostOf(const OpCall&, absl::Span<const View> in, absl::Span<const View> out) {
  return {static_cast<double>(in[0].size()), 0, Bytes(in) + Bytes(out)};
}

Params ParamsOf(const OpCall& call) {
  const int64_t axis = *NormalAxis(call, call.attributes.Int("axis"), call.in(0).shape.size());
  return Params::Of(CumsumParams{static_cast<int32_t>(axis), call.attributes.Flag("reverse"),
                                 call.attributes.Flag("exclusive")});
}

int64_t Pieces(const View* in, const View*, const Params& params) {
  CumsumParams p;
  std::memcpy(&p, params.bytes, sizeof(p));
  const ScanGrid g = GridOf(in[0], p.axis);
  return PiecesOf(g.units, g.per_piece);
}

template <DType dtype>
CpuKernel Kernel(const char* name, CpuFns run) {
  return {.name = name,
          .run = run,
          .refuse = [](const OpCall& call, Isa) -> std::string {
            const DType have = call.in(0).dtype;
            return have == dtype ? "" : StrCat("takes ", DTypeName(dtype), ", not ", DTypeName(have));
          },
          .params = ParamsOf,
          .pieces = Pieces};
}

}  // namespace

const OpSpec& CumsumSpec() {
  static const OpSpec spec{
      .name = "cumsum",
      .summary = "running sums along one axis",
      .inputs = {{"x", false, Layout::kAny}},
      .attributes = {{"axis", AttrKind::kInt, "an integer in [-rank, rank), default 0"},
                     {"reverse", AttrKind::kFlag, "sums from the end, default false"},
                     {"exclusive", AttrKind::kFlag, "leaves out the element itself, default false"}},
      .infer = Infer,
      .cost = CostOf,
      .in_place = 1,
      .cpu = {Kernel<DType::kF32>("f32", PLINTH_CPU_FNS(CumsumF32)),
              Kernel<DType::kI32>("i32", PLINTH_CPU_FNS(CumsumI32)),
              Kernel<DType::kI64>("i64", PLINTH_CPU_FNS(CumsumI64))},
  };
  return spec;
}

}  // namespace plinth::ops
