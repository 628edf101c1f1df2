#include <cmath>

#include "plinth/ops/top_k/cpu.h"
#include "plinth/ops/top_k/op.h"

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
  const int64_t k = call.attributes.Int("k");
  if (k < 1) return Refuse(call, StrCat("k is ", k, "; it is at least 1"));
  // A named dimension has at least its offset of elements.
  if (k > n.offset()) {
    return Refuse(call,
                  StrCat("k is ", k, ", but the last dimension is ", n.ToString(),
                         n.constant() ? "" : StrCat(", which may be ", n.offset()), "; k is at most that"));
  }
  ValueType values = x;
  values.shape.back() = Dim(k);
  return std::vector<ValueType>{values, {DType::kI32, values.shape}};
}

// Counts one comparison per element, and the ordering of the k.
Cost CostOf(const OpCall&, absl::Span<const View> in, absl::Span<const View> out) {
  const double k = static_cast<double>(out[0].last());
  const double order = static_cast<double>(out[0].size()) * std::log2(k + 1);
  return {static_cast<double>(in[0].size()) + order, 0, Bytes(in) + Bytes(out)};
}

Params ParamsOf(const OpCall& call) { return Params::Of(TopKParams{call.attributes.Flag("largest", true)}); }

int64_t Pieces(const View* in, const View*, const Params&) {
  return PiecesOf(in[0].rows(), RowsPerPiece(in[0].last()));
}

int64_t Scratch(const OpCall&, const View*, const View* out, Isa) { return 8 * out[0].last(); }

}  // namespace

const OpSpec& TopKSpec() {
  static const OpSpec spec{
      .name = "top_k",
      .summary = "the k largest or smallest elements along the last dimension, and where they stand",
      .inputs = {{"x", false, Layout::kRows}},
      .attributes = {{"k", AttrKind::kInt, "an integer in [1, n]"},
                     {"largest", AttrKind::kFlag, "largest or smallest, default true"}},
      .infer = Infer,
      .cost = CostOf,
      .rows_independent = true,
      .cpu = {{.name = "f32",
               .run = PLINTH_CPU_FNS(TopKF32),
               .refuse = nullptr,
               .params = ParamsOf,
               .pieces = Pieces,
               .scratch_bytes = Scratch}},
  };
  return spec;
}

}  // namespace plinth::ops
