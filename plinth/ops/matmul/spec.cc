#include "plinth/ops/matmul/cpu.h"
#include "plinth/ops/matmul/op.h"
#include "plinth/ops/matrix_grid.h"
#include "plinth/tensor/resident.h"

namespace plinth::ops {
namespace {

MatmulParams Flags(const OpCall& call) {
  return {call.attributes.Flag("transpose_a"), call.attributes.Flag("transpose_b")};
}

// The leading dimensions of the output. Error: InvalidArgument where they do not broadcast.
StatusOr<Shape> BatchShape(const OpCall& call) {
  const Shape &a = call.in(0).shape, &b = call.in(1).shape;
  const size_t na = a.size() - 2, nb = b.size() - 2, n = std::max(na, nb);
  Shape batch;
  for (size_t i = 0; i < n; ++i) {
    const Dim da = i + na < n ? Dim(1) : a[i + na - n], db = i + nb < n ? Dim(1) : b[i + nb - n];
    if (!(da == db) && !(da == Dim(1)) && !(db == Dim(1))) {
      return Refuse(call, StrCat("leading dimensions of a ", ToString(a), " and b ", ToString(b),
                                 " do not broadcast: ", da.ToString(), " against ", db.ToString()));
    }
    batch.push_back(da == Dim(1) ? db : da);
  }
  return batch;
}

StatusOr<std::vector<ValueType>> Infer(const OpCall& call) {
  for (size_t i = 0; i < 2; ++i) {
    const ValueType& t = call.in(i);
    const char* name = call.spec->inputs[i].name;
    if (t.dtype != DType::kF32) {
      return Refuse(call, StrCat(name, " is ", DTypeName(t.dtype), "; f32 is supported"));
    }
    if (t.shape.size() < 2) {
      return Refuse(call, StrCat(name, " is ", ToString(t.shape), "; it needs at least two dimensions"));
    }
  }
  const MatmulParams flags = Flags(call);
  const Shape &a = call.in(0).shape, &b = call.in(1).shape;
  const size_t ra = a.size(), rb = b.size();
  const Dim depth_a = a[ra - (flags.transpose_a ? 2 : 1)], depth_b = b[rb - (flags.transpose_b ? 1 : 2)];
  if (!(depth_a == depth_b)) {
    return Refuse(call, StrCat("a ", ToString(a), " has ", depth_a.ToString(), " terms per sum and b ",
                               ToString(b), " has ", depth_b.ToString(), "; they must agree"));
  }
  PLINTH_ASSIGN_OR_RETURN(Shape y, BatchShape(call));
  y.push_back(a[ra - (flags.transpose_a ? 1 : 2)]);
  y.push_back(b[rb - (flags.transpose_b ? 2 : 1)]);
  return std::vector<ValueType>{{DType::kF32, std::move(y)}};
}

Cost CostOf(const OpCall& call, absl::Span<const View> in, absl::Span<const View> out) {
  const View& a = in[0];
  const double depth = static_cast<double>(a.dims[a.rank - (Flags(call).transpose_a ? 2 : 1)]);
  const double products = 2.0 * depth * static_cast<double>(out[0].size());
  return {products, products, Bytes(in) + Bytes(out)};
}

Params ParamsOf(const OpCall& call) { return Params::Of(Flags(call)); }

int64_t Pieces(const View* in, const View* out, const Params& params) {
  return MatmulPiecesOf(in[0], out[0], *reinterpret_cast<const MatmulParams*>(params.bytes)).count();
}

int64_t ScratchBytes(const OpCall&, const View*, const View*, Isa) { return sizeof(MatrixScratch); }

// A constant right side is packed once.
StatusOr<CpuKernel::Prepared> Prepare(const OpCall& call, const View* constants, Isa isa) {
  const View& b = constants[1];
  if (b.data == nullptr || b.size() == 0) return CpuKernel::Prepared{};
  const int level = static_cast<int>(isa);
  const bool transposed = Flags(call).transpose_b;
  const int64_t depth = b.dims[b.rank - (transposed ? 1 : 2)],
                columns = b.dims[b.rank - (transposed ? 2 : 1)];
  const int64_t bytes = b.size() / (depth * columns) * MatmulPackedFloats(depth, columns, level) *
                        static_cast<int64_t>(sizeof(float));
  AlignedBytes packed = AllocateResident(bytes);
  if (packed == nullptr) {
    return absl::ResourceExhaustedError(StrCat("matmul: no memory for ", bytes, " bytes of packed matrices"));
  }
  const Params params = ParamsOf(call);
  const View in[] = {View{}, b};
  constexpr CpuFns kPack = PLINTH_CPU_FNS(MatmulPackF32);
  kPack.at[level](CpuArgs{in, nullptr, params.bytes, nullptr, packed.get(), nullptr}, 0, 1);
  return CpuKernel::Prepared{std::shared_ptr<const void>(std::move(packed)), bytes, 1u << 1};
}

}  // namespace

const OpSpec& MatmulSpec() {
  static const OpSpec spec{
      .name = "matmul",
      .summary = "products of matrices, batch by batch",
      .inputs = {{"a", false, Layout::kAny}, {"b", false, Layout::kAny}},
      .attributes = {{"transpose_a", AttrKind::kFlag, "a is [..., K, M]; false by default"},
                     {"transpose_b", AttrKind::kFlag, "b is [..., N, K]; false by default"}},
      .infer = Infer,
      .cost = CostOf,
      .cpu = {{.name = "panel_f32",
               .run = PLINTH_CPU_FNS(MatmulF32),
               .refuse = nullptr,
               .params = ParamsOf,
               .pieces = Pieces,
               .scratch_bytes = ScratchBytes,
               .prepare = Prepare}},
  };
  return spec;
}

}  // namespace plinth::ops
