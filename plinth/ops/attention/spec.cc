#include <cmath>
#include <cstring>

#include "plinth/ops/attention/cpu.h"
#include "plinth/ops/attention/op.h"

namespace plinth::ops {
namespace {

enum Input { kQ, kK, kV, kQOffsets, kKvOffsets, kMask, kBias };

int64_t Heads(const OpCall& call) { return call.attributes.Int("heads", 1); }
int64_t KvHeads(const OpCall& call) {
  const int64_t heads = call.attributes.Int("kv_heads", 0);
  return heads == 0 ? Heads(call) : heads;
}

// The columns of one head of input `i`.
StatusOr<int64_t> HeadColumns(const OpCall& call, size_t i, int64_t heads) {
  const ValueType& x = call.in(i);
  const char* name = call.spec->inputs[i].name;
  if (x.dtype != DType::kF32 || x.shape.size() != 2 || !x.shape[1].constant()) {
    return Refuse(call,
                  StrCat(name, " is ", ToString(x), "; f32 [rows, a constant number of columns] is needed"));
  }
  const int64_t columns = x.shape[1].offset();
  if (columns < heads || columns % heads != 0) {
    return Refuse(call, StrCat(name, " has ", columns, " columns, which ", heads, " heads do not divide"));
  }
  return columns / heads;
}

Status CheckHeads(const OpCall& call) {
  if (Heads(call) < 1) return Refuse(call, StrCat("heads is ", Heads(call), "; at least 1 is needed"));
  if (KvHeads(call) < 1 || Heads(call) % KvHeads(call) != 0) {
    return Refuse(call,
                  StrCat("kv_heads is ", KvHeads(call), "; a divisor of heads ", Heads(call), " is needed"));
  }
  const double scale = call.attributes.Real("scale", 0);
  if (!std::isfinite(scale)) return Refuse(call, StrCat("scale is ", scale, "; a finite number is needed"));
  return absl::OkStatus();
}

Status CheckOffsetTypes(const OpCall& call) {
  const ValueType& offsets = call.in(kQOffsets);
  if (offsets.dtype != DType::kI32 || offsets.shape.size() != 1) {
    return Refuse(call, StrCat("q_offsets are ", ToString(offsets), "; i32 [sequences + 1] is needed"));
  }
  if (call.has(kKvOffsets)) {
    if (call.in(kKvOffsets) != offsets) {
      return Refuse(call, StrCat("kv_offsets are ", ToString(call.in(kKvOffsets)), "; ", ToString(offsets),
                                 ", as q_offsets, is needed"));
    }
  } else if (call.in(kQ).shape[0] != call.in(kK).shape[0]) {
    return Refuse(call, StrCat("q has ", call.in(kQ).shape[0].ToString(), " rows and k has ",
                               call.in(kK).shape[0].ToString(), "; kv_offsets are needed"));
  }
  return absl::OkStatus();
}

// Whether the extent is an odd number whatever the run.
bool SurelyOdd(const Dim& d) { return d.scale() % 2 == 0 && d.offset() % 2 != 0; }

Status CheckMaskAndBias(const OpCall& call) {
  const Dim keys = call.in(kK).shape[0];
  if (call.has(kMask)) {
    const ValueType& mask = call.in(kMask);
    if ((mask.dtype != DType::kBool && mask.dtype != DType::kU8) || mask.shape != Shape{keys}) {
      return Refuse(call, StrCat("key_mask is ", ToString(mask), "; bool or u8 [", keys.ToString(),
                                 "], one per row of k, is needed"));
    }
  }
  if (call.has(kBias)) {
    const ValueType& bias = call.in(kBias);
    const bool ranked = bias.shape.size() == 3 || (bias.shape.size() == 2 && SurelyOdd(bias.shape[1]));
    if (bias.dtype != DType::kF32 || !ranked ||
        (bias.shape[0] != Dim(1) && bias.shape[0] != Dim(Heads(call)))) {
      return Refuse(
          call, StrCat("bias is ", ToString(bias), "; f32 [1 or ", Heads(call), ", queries, keys], or [1 or ",
                       Heads(call), ", an odd number] by distance, is needed"));
    }
  }
  return absl::OkStatus();
}

StatusOr<std::vector<ValueType>> Infer(const OpCall& call) {
  PLINTH_RETURN_IF_ERROR(CheckHeads(call));
  PLINTH_ASSIGN_OR_RETURN(const int64_t dim, HeadColumns(call, kQ, Heads(call)));
  PLINTH_ASSIGN_OR_RETURN(const int64_t key_dim, HeadColumns(call, kK, KvHeads(call)));
  PLINTH_ASSIGN_OR_RETURN(const int64_t value_dim, HeadColumns(call, kV, KvHeads(call)));
  if (key_dim != dim) {
    return Refuse(call, StrCat("a head of q has ", dim, " columns and one of k has ", key_dim,
                               "; equal ones are needed"));
  }
  if (call.in(kK).shape[0] != call.in(kV).shape[0]) {
    return Refuse(call, StrCat("k has ", call.in(kK).shape[0].ToString(), " rows and v has ",
                               call.in(kV).shape[0].ToString(), "; equal numbers are needed"));
  }
  PLINTH_RETURN_IF_ERROR(CheckOffsetTypes(call));
  PLINTH_RETURN_IF_ERROR(CheckMaskAndBias(call));
  return std::vector<ValueType>{{DType::kF32, {call.in(kQ).shape[0], Dim(Heads(call) * value_dim)}}};
}

Params ParamsOf(const OpCall& call) {
  AttentionParams p{};
  p.heads = Heads(call);
  p.kv_heads = KvHeads(call);
  p.dim = call.in(kQ).shape[1].offset() / p.heads;
  p.value_dim = call.in(kV).shape[1].offset() / p.kv_heads;
  const double scale = call.attributes.Real("scale", 0);
  p.scale = static_cast<float>(scale == 0 ? 1 / std::sqrt(static_cast<double>(p.dim)) : scale);
  p.causal = call.attributes.Flag("causal");
  p.has_kv_offsets = call.has(kKvOffsets);
  p.has_mask = call.has(kMask);
  p.has_bias = call.has(kBias);
  p.bias_by_distance = p.has_bias && call.in(kBias).shape.size() == 2;
  return Params::Of(p);
}

// The lengths of sequences are unknown here; all are taken to be of the mean length. Causal masks halve
// the work.
Cost CostOf(const OpCall& call, absl::Span<const View> in, absl::Span<const View> out) {
  const double sequences = static_cast<double>(in[kQOffsets].size() > 1 ? in[kQOffsets].size() - 1 : 1);
  const double pairs = static_cast<double>(in[kQ].rows()) * static_cast<double>(in[kK].rows()) / sequences *
                       static_cast<double>(Heads(call)) * (call.attributes.Flag("causal") ? 0.5 : 1.0);
  const double dim = static_cast<double>(in[kQ].last() / Heads(call));
  const double value_dim = static_cast<double>(in[kV].last() / KvHeads(call));
  const double products = 2 * pairs * (dim + value_dim);
  return {products + 12 * pairs, products, Bytes(in) + Bytes(out)};
}

int64_t Pieces(const View* in, const View*, const Params& params) {
  AttentionParams p;
  std::memcpy(&p, params.bytes, sizeof(p));
  return p.heads * PiecesOf(in[kQ].dims[0], kAttentionRows);
}

int64_t ScratchBytes(const OpCall& call, const View*, const View*, Isa) {
  const int64_t dim = call.in(kQ).shape[1].offset() / Heads(call);
  const int64_t value_dim = call.in(kV).shape[1].offset() / KvHeads(call);
  return AttentionScratch(dim, value_dim).total * static_cast<int64_t>(sizeof(float));
}

}  // namespace

const OpSpec& AttentionSpec() {
  static const OpSpec spec{
      .name = "attention",
      .summary = "each query row mixes the values of its own sequence by softmax of scores",
      .inputs = {{"q", false, Layout::kRows},
                 {"k", false, Layout::kRows},
                 {"v", false, Layout::kRows},
                 {"q_offsets"},
                 {"kv_offsets", true},
                 {"key_mask", true},
                 {"bias", true}},
      .attributes = {{"heads", AttrKind::kInt, "query heads, >= 1; 1"},
                     {"kv_heads", AttrKind::kInt, "key heads, a divisor of heads; 0: heads"},
                     {"scale", AttrKind::kReal, "factor of the scores, finite; 0: 1/sqrt(columns of a head)"},
                     {"causal", AttrKind::kFlag,
                      "queries are the last rows of their sequence and see no later key"}},
      .infer = Infer,
      .cost = CostOf,
      .cpu = {{.name = "f32",
               .run = PLINTH_CPU_FNS(AttentionF32),
               .refuse = nullptr,
               .params = ParamsOf,
               .pieces = Pieces,
               .scratch_bytes = ScratchBytes}},
  };
  return spec;
}

}  // namespace plinth::ops
