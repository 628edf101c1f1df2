#include <cmath>

#include "plinth/ops/rotary/cpu.h"
#include "plinth/ops/rotary/op.h"

namespace plinth::ops {
namespace {

int64_t RotaryDims(const OpCall& call) {
  const int64_t dims = call.attributes.Int("rotary_dims", 0);
  return dims == 0 ? call.attributes.Int("head_dim") : dims;
}

Status CheckAttributes(const OpCall& call, int64_t columns) {
  const int64_t heads = call.attributes.Int("heads", 1), head_dim = call.attributes.Int("head_dim");
  if (head_dim < 2 || head_dim > columns) {
    return Refuse(call,
                  StrCat("head_dim is ", head_dim, "; 2 to ", columns, " (the columns of x) is needed"));
  }
  if (heads < 1 || heads > columns / head_dim) {
    return Refuse(call, StrCat("heads is ", heads, "; x has ", columns, " columns, room for 1 to ",
                               columns / head_dim, " heads of ", head_dim));
  }
  const int64_t dims = RotaryDims(call);
  if (dims < 2 || dims > head_dim || dims % 2 != 0) {
    return Refuse(call, StrCat("rotary_dims is ", dims, "; an even number from 2 to head_dim ", head_dim,
                               " is needed"));
  }
  const std::string style = call.attributes.Text("style", "halves");
  if (style != "halves" && style != "interleaved") {
    return Refuse(call, StrCat("style is \"", style, "\"; \"halves\" or \"interleaved\" is needed"));
  }
  const double theta = call.attributes.Real("theta", 10000);
  if (!std::isfinite(theta) || theta < 1) {
    return Refuse(call, StrCat("theta is ", theta, "; a finite number of at least 1 is needed"));
  }
  return absl::OkStatus();
}

StatusOr<std::vector<ValueType>> Infer(const OpCall& call) {
  const ValueType& x = call.in(0);
  const ValueType& positions = call.in(1);
  if (x.dtype != DType::kF32 || x.shape.size() != 2 || !x.shape[1].constant()) {
    return Refuse(call, StrCat("x is ", ToString(x), "; f32 [rows, a constant number of columns] is needed"));
  }
  if (positions.dtype != DType::kI32 && positions.dtype != DType::kF32) {
    return Refuse(call, StrCat("positions are ", DTypeName(positions.dtype), "; i32 or f32 is supported"));
  }
  if (positions.shape != Shape{x.shape[0]}) {
    return Refuse(call, StrCat("positions are ", ToString(positions), "; one per row of x, [",
                               x.shape[0].ToString(), "], is needed"));
  }
  PLINTH_RETURN_IF_ERROR(CheckAttributes(call, x.shape[1].offset()));
  return std::vector<ValueType>{x};
}

Params ParamsOf(const OpCall& call) {
  return Params::Of(RotaryParams{call.attributes.Int("heads", 1), call.attributes.Int("head_dim"),
                                 RotaryDims(call) / 2,
                                 call.attributes.Text("style", "halves") == "interleaved"});
}

// Angles of all pairs at position 1, in double.
StatusOr<CpuKernel::Prepared> Prepare(const OpCall& call, const View*, Isa) {
  const int64_t pairs = RotaryDims(call) / 2;
  const double theta = call.attributes.Real("theta", 10000);
  auto table = std::make_shared<std::vector<double>>(static_cast<size_t>(pairs));
  for (int64_t j = 0; j < pairs; ++j) {
    (*table)[static_cast<size_t>(j)] = std::pow(theta, -static_cast<double>(j) / static_cast<double>(pairs));
  }
  CpuKernel::Prepared prepared;
  prepared.data = std::shared_ptr<const void>(table, table->data());
  prepared.bytes = pairs * static_cast<int64_t>(sizeof(double));
  return prepared;
}

int64_t ScratchBytes(const OpCall& call, const View*, const View*, Isa) {
  return RotaryDims(call) * static_cast<int64_t>(sizeof(float));
}

// Three operations for each turned element, and about 40 for sine and cosine of each pair of a row.
Cost CostOf(const OpCall& call, absl::Span<const View> in, absl::Span<const View> out) {
  const double dims = static_cast<double>(RotaryDims(call));
  const double heads = static_cast<double>(call.attributes.Int("heads", 1));
  return {static_cast<double>(in[0].rows()) * dims * (3 * heads + 20), 0, Bytes(in) + Bytes(out)};
}

int64_t Pieces(const View* in, const View*, const Params&) {
  return PiecesOf(in[0].rows(), RowsPerPiece(in[0].last()));
}

}  // namespace

const OpSpec& RotarySpec() {
  static const OpSpec spec{
      .name = "rotary",
      .summary = "column pairs turned by an angle that grows with the position",
      .inputs = {{"x", false, Layout::kRows}, {"positions"}},
      .attributes = {{"heads", AttrKind::kInt, "how many leading heads are turned, >= 1; 1"},
                     {"head_dim", AttrKind::kInt, "columns of a head, >= 2"},
                     {"rotary_dims", AttrKind::kInt, "turned columns of a head, even; 0: all"},
                     {"style", AttrKind::kText, "\"halves\" or \"interleaved\"; halves"},
                     {"theta", AttrKind::kReal, "base of the frequencies, >= 1; 10000"}},
      .infer = Infer,
      .cost = CostOf,
      .in_place = 1,
      .rows_independent = true,
      .cpu = {{.name = "f32",
               .run = PLINTH_CPU_FNS(RotaryF32),
               .refuse = nullptr,
               .params = ParamsOf,
               .pieces = Pieces,
               .scratch_bytes = ScratchBytes,
               .prepare = Prepare}},
  };
  return spec;
}

}  // namespace plinth::ops
