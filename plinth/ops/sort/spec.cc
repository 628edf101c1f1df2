#include <cmath>

#include "plinth/ops/sort/cpu.h"
#include "plinth/ops/sort/op.h"

namespace plinth::ops {
namespace {

StatusOr<std::vector<ValueType>> Infer(const OpCall& call) {
  const ValueType& x = call.in(0);
  if (x.dtype != DType::kF32) {
    return Refuse(call, StrCat("x is ", DTypeName(x.dtype), "; f32 is supported"));
  }
  if (x.shape.empty()) return Refuse(call, "x is a scalar; it needs at least one dimension");
  const Dim& n = x.shape.back();
  if (n.constant() && n.offset() > INT32_MAX) {
    return Refuse(call, StrCat("the last dimension is ", n.offset(), "; i32 indices reach 2^31 - 1"));
  }
  return std::vector<ValueType>{x, {DType::kI32, x.shape}};
}

// Counts one comparison per element and doubling of the length.
Cost CostOf(const OpCall&, absl::Span<const View> in, absl::Span<const View> out) {
  const double n = static_cast<double>(in[0].last());
  return {static_cast<double>(in[0].size()) * std::log2(n + 1), 0, Bytes(in) + Bytes(out)};
}

Params ParamsOf(const OpCall& call) { return Params::Of(SortParams{call.attributes.Flag("descending")}); }

int64_t Pieces(const View* in, const View*, const Params&) {
  return PiecesOf(in[0].rows(), RowsPerPiece(in[0].last()));
}

// Keys with indices, twice.
int64_t Scratch(const OpCall&, const View* in, const View*, Isa) { return 2 * 8 * in[0].last(); }

}  // namespace

const OpSpec& SortSpec() {
  static const OpSpec spec{
      .name = "sort",
      .summary = "the elements along the last dimension in order, and where they stood",
      .inputs = {{"x", false, Layout::kRows}},
      .attributes = {{"descending", AttrKind::kFlag, "largest first, default false"}},
      .infer = Infer,
      .cost = CostOf,
      .rows_independent = true,
      .cpu = {{.name = "f32",
               .run = PLINTH_CPU_FNS(SortF32),
               .refuse = nullptr,
               .params = ParamsOf,
               .pieces = Pieces,
               .scratch_bytes = Scratch}},
  };
  return spec;
}

}  // namespace plinth::ops
