#include "plinth/ops/cast/cpu.h"
#include "plinth/ops/cast/op.h"

namespace plinth::ops {
namespace {

StatusOr<std::vector<ValueType>> Infer(const OpCall& call) {
  const std::string to = call.attributes.Text("to");
  const std::optional<DType> dtype = DTypeFromName(to);
  if (!dtype.has_value()) {
    return Refuse(
        call,
        StrCat("\"", to, "\" is no element type; f64, f32, f16, bf16, i64, i32, i16, i8, u8 and bool are"));
  }
  return std::vector<ValueType>{{*dtype, call.in(0).shape}};
}

Cost CostOf(const OpCall&, absl::Span<const View> in, absl::Span<const View> out) {
  return {static_cast<double>(in[0].size()), 0, Bytes(in) + Bytes(out)};
}

int64_t Pieces(const View* in, const View*, const Params&) { return PiecesOf(in[0].size(), kPieceElements); }

}  // namespace

const OpSpec& CastSpec() {
  static const OpSpec spec{
      .name = "cast",
      .summary = "elements converted to another type",
      .inputs = {{"x", false, Layout::kAny}},
      .attributes = {{"to", AttrKind::kText, "the name of an element type"}},
      .infer = Infer,
      .cost = CostOf,
      .rows_independent = true,
      .cpu = {{.name = "elements", .run = PLINTH_CPU_FNS(CastElements), .refuse = nullptr, .pieces = Pieces}},
  };
  return spec;
}

}  // namespace plinth::ops
