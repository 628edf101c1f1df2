#include "plinth/ops/gather/cpu.h"
#include "plinth/ops/gather/op.h"

namespace plinth::ops {
namespace {

StatusOr<std::vector<ValueType>> Infer(const OpCall& call) {
  const ValueType& data = call.in(0);
  const ValueType& index = call.in(1);
  if (data.shape.empty()) return Refuse(call, "data is a scalar; it needs at least one dimension");
  if (index.dtype != DType::kI32 && index.dtype != DType::kI64) {
    return Refuse(call, StrCat("index is ", DTypeName(index.dtype), "; i32 or i64 is supported"));
  }
  ValueType out{data.dtype, index.shape};
  out.shape.insert(out.shape.end(), data.shape.begin() + 1, data.shape.end());
  if (out.shape.size() > kMaxRank) {
    return Refuse(call,
                  StrCat("the result has rank ", out.shape.size(), "; at most ", kMaxRank, " is supported"));
  }
  return std::vector<ValueType>{std::move(out)};
}

Cost CostOf(const OpCall&, absl::Span<const View> in, absl::Span<const View> out) {
  // Only the picked rows are read.
  return {0, 0, 2 * Bytes(out) + Bytes(in.subspan(1))};
}

int64_t Pieces(const View* in, const View*, const Params&) {
  int64_t elements = 1;
  for (int d = 1; d < in[0].rank; ++d) elements *= in[0].dims[d];
  return PiecesOf(in[1].size(), RowsPerPiece(elements));
}

}  // namespace

const OpSpec& GatherSpec() {
  static const OpSpec spec{
      .name = "gather",
      .summary = "rows of a table picked by index",
      .inputs = {{"data", false, Layout::kRows}, {"index"}},
      .infer = Infer,
      .cost = CostOf,
      .cpu = {{.name = "bytes", .run = PLINTH_CPU_FNS(GatherBytes), .refuse = nullptr, .pieces = Pieces}},
  };
  return spec;
}

}  // namespace plinth::ops
