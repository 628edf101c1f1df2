#include "plinth/ops/copy_plan.h"
#include "plinth/ops/reshape/cpu.h"
#include "plinth/ops/reshape/op.h"

namespace plinth::ops {
namespace {

// A product of dimensions of which at most one is named: factor * named, or factor.
struct Volume {
  int64_t factor = 1;
  const Dim* named = nullptr;
};

Status Multiply(const OpCall& call, const Dim& d, Volume* v) {
  if (!d.constant()) {
    if (v->named != nullptr) {
      return Refuse(call, StrCat("the named dimensions ", v->named->ToString(), " and ", d.ToString(),
                                 " cannot be merged; keep one of them with 0"));
    }
    v->named = &d;
    return absl::OkStatus();
  }
  if (__builtin_mul_overflow(v->factor, d.offset(), &v->factor)) {
    return Refuse(call, "the number of elements does not fit 63 bits");
  }
  return absl::OkStatus();
}

// left / right, which is a dimension where it comes out even.
StatusOr<Dim> Quotient(const OpCall& call, const Volume& left, int64_t right) {
  const std::string what =
      StrCat("what is left of x, ", left.named == nullptr ? "" : StrCat("(", left.named->ToString(), ") * "),
             left.factor, ", is not a multiple of ", right);
  if (right == 0) return Refuse(call, "-1 stands beside a dimension of zero and could be anything");
  int64_t scale = left.factor, offset = 0;
  if (left.named == nullptr) return scale % right == 0 ? StatusOr<Dim>(scale / right) : Refuse(call, what);
  if (__builtin_mul_overflow(left.factor, left.named->scale(), &scale) ||
      __builtin_mul_overflow(left.factor, left.named->offset(), &offset)) {
    return Refuse(call, "the number of elements does not fit 63 bits");
  }
  if (scale % right != 0 || offset % right != 0) return Refuse(call, what);
  if (scale == 0) return Dim(0);  // a dimension of zero beside the named one
  return Dim::Named(left.named->name(), scale / right, offset / right);
}

StatusOr<std::vector<ValueType>> Infer(const OpCall& call) {
  const ValueType& x = call.in(0);
  if (call.attributes.Find("dims") == nullptr) return Refuse(call, "attribute \"dims\" is missing");
  const std::vector<int64_t> dims = call.attributes.Ints("dims");
  if (dims.size() > kMaxRank) {
    return Refuse(call, StrCat("dims has ", dims.size(), " entries; at most ", kMaxRank, " are supported"));
  }
  ValueType y{x.dtype, {}};
  std::vector<bool> kept(x.shape.size(), false);
  Volume target;
  int64_t open = -1;  // where the -1 is
  for (size_t i = 0; i < dims.size(); ++i) {
    const int64_t n = dims[i];
    if (n < -1) return Refuse(call, StrCat("dims[", i, "] is ", n, "; it is at least -1"));
    if (n == -1 && open >= 0) return Refuse(call, "dims has more than one -1");
    if (n == 0) {
      if (i >= x.shape.size()) {
        return Refuse(call, StrCat("dims[", i, "] is 0, which keeps a dimension that x ", ToString(x.shape),
                                   " does not have"));
      }
      kept[i] = true;
    }
    if (n == -1) open = static_cast<int64_t>(i);
    if (n > 0) PLINTH_RETURN_IF_ERROR(Multiply(call, Dim(n), &target));
    y.shape.push_back(n == 0 ? x.shape[i] : Dim(n));
  }
  Volume source;
  for (size_t i = 0; i < x.shape.size(); ++i) {
    if (!kept[i]) PLINTH_RETURN_IF_ERROR(Multiply(call, x.shape[i], &source));
  }
  if (open >= 0) {
    PLINTH_ASSIGN_OR_RETURN(y.shape[open], Quotient(call, source, target.factor));
  } else if (source.named != nullptr || source.factor != target.factor) {
    return Refuse(call, StrCat("x ", ToString(x.shape), " does not have as many elements as ",
                               ToString(y.shape), source.named != nullptr ? "; use -1 or 0" : ""));
  }
  return std::vector<ValueType>{y};
}

Cost CostOf(const OpCall&, absl::Span<const View>, absl::Span<const View> out) {
  return {0, 0, 2 * Bytes(out)};
}

// Groups of neighbouring dimensions with equal products on both sides need contiguous memory inside the
// group only (the method of NumPy's reshape without copying).
bool ViewOf(const OpCall&, const View& in, View* out) {
  out->data = in.data;
  int64_t dims[kMaxRank], strides[kMaxRank];
  int rank = 0;
  for (int d = 0; d < in.rank; ++d) {
    if (in.dims[d] == 1) continue;
    dims[rank] = in.dims[d];
    strides[rank++] = in.strides[d];
  }
  if (in.size() == 0 || rank == 0) {
    *out = DenseView(in.data, out->dtype, out->dims, out->rank);
    return true;
  }
  int from = 0, to = 0;
  while (from < rank) {
    int from_end = from + 1, to_end = to + 1;
    int64_t have = dims[from], want = out->dims[to];
    while (have != want) {
      if (have < want) {
        have *= dims[from_end++];
      } else {
        want *= out->dims[to_end++];
      }
    }
    for (int d = from; d + 1 < from_end; ++d) {
      if (strides[d] != strides[d + 1] * dims[d + 1]) return false;
    }
    int64_t stride = strides[from_end - 1];
    for (int d = to_end - 1; d >= to; --d) {
      out->strides[d] = stride;
      stride *= out->dims[d];
    }
    from = from_end;
    to = to_end;
  }
  for (; to < out->rank; ++to) out->strides[to] = 1;  // only ones are left
  return true;
}

int64_t Pieces(const View* in, const View* out, const Params&) {
  return PlanCopy(in[0], DenseLike(in[0], out[0])).pieces;
}

}  // namespace

const OpSpec& ReshapeSpec() {
  static const OpSpec spec{
      .name = "reshape",
      .summary = "the same elements under other dimensions",
      .inputs = {{"x", false, Layout::kAny}},
      .attributes = {{"dims", AttrKind::kInts, "integers: 0 keeps x's dimension, one -1 takes what is left"}},
      .infer = Infer,
      .cost = CostOf,
      .view = ViewOf,
      .cpu = {{.name = "copy", .run = PLINTH_CPU_FNS(ReshapeAny), .refuse = nullptr, .pieces = Pieces}},
  };
  return spec;
}

}  // namespace plinth::ops
