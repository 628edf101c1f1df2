#include "plinth/verify/replay/own_reference.h"

#include <algorithm>
#include <cmath>

#include "plinth/ops/checks.h"
#include "plinth/ops/registry.h"

namespace plinth::verify::replay {
namespace {

using formats::JsonValue;

// One row of a block costs about so much that blocks are worth a task.
constexpr int64_t kBlockRows = 16;

StatusOr<ops::Attribute> AttributeOf(const OpUse& use, const ops::AttrSpec& spec) {
  switch (spec.kind) {
    case ops::AttrKind::kInt: {
      PLINTH_ASSIGN_OR_RETURN(const int64_t v, use.Int(spec.name, 0));
      return ops::Attribute(v);
    }
    case ops::AttrKind::kReal: {
      PLINTH_ASSIGN_OR_RETURN(const double v, use.Real(spec.name, 0));
      return ops::Attribute(v);
    }
    case ops::AttrKind::kFlag: {
      PLINTH_ASSIGN_OR_RETURN(const bool v, use.Flag(spec.name, false));
      return ops::Attribute(v);
    }
    case ops::AttrKind::kText: {
      PLINTH_ASSIGN_OR_RETURN(std::string v, use.Text(spec.name, ""));
      return ops::Attribute(std::move(v));
    }
    default: {
      PLINTH_ASSIGN_OR_RETURN(std::vector<int64_t> v, use.Ints(spec.name, {}));
      return ops::Attribute(std::move(v));
    }
  }
}

StatusOr<ops::Attributes> AttributesOf(const OpUse& use, const ops::OpSpec& spec) {
  ops::Attributes out;
  for (const ops::AttrSpec& a : spec.attributes) {
    if (!use.Has(a.name)) continue;
    PLINTH_ASSIGN_OR_RETURN(ops::Attribute value, AttributeOf(use, a));
    out.Set(a.name, std::move(value));
  }
  return out;
}

ValueType TypeOf(const Values& v, int64_t rows) {
  Shape shape;
  for (const int64_t d : v.dims()) shape.push_back(Dim(d));
  if (rows >= 0) shape[0] = Dim(rows);
  return {v.format().storage, shape};
}

// Offsets of a ragged batch: from 0 on, never falling, at most `rows`.
Status CheckOffsets(const Values& offsets, int64_t rows, std::string_view name) {
  int64_t before = 0;
  for (int64_t i = 0; i < offsets.size(); ++i) {
    const int64_t at = offsets.index(i);
    if ((i == 0 && at != 0) || at < before || at > rows) {
      return absl::InvalidArgumentError(StrCat(name, "[", i, "] is ", at, " after ", before,
                                               "; offsets begin at 0, do not fall and end at most at ",
                                               rows));
    }
    before = at;
  }
  return absl::OkStatus();
}

// The references trust their data as kernels do not: what would lead outside a tensor is refused here.
Status CheckAttentionData(const OpUse& use) {
  const Values& kv_offsets = use.has(4) ? use.in(4) : use.in(3);
  if (kv_offsets.size() != use.in(3).size()) {
    return absl::InvalidArgumentError(StrCat("kv_offsets are ", kv_offsets.ToString(), " and q_offsets ",
                                             use.in(3).ToString(), "; equal numbers are needed"));
  }
  PLINTH_RETURN_IF_ERROR(CheckOffsets(use.in(3), use.in(0).dim(0), "q_offsets"));
  PLINTH_RETURN_IF_ERROR(CheckOffsets(kv_offsets, use.in(1).dim(0), use.has(4) ? "kv_offsets" : "q_offsets"));
  if (!use.has(6)) return absl::OkStatus();
  const Values& bias = use.in(6);
  const bool by_distance = bias.rank() == 2;
  const int64_t most_queries = by_distance ? (bias.dim(1) + 1) / 2 : bias.dim(1);
  const int64_t most_keys = by_distance ? most_queries : bias.dim(2);
  for (int64_t b = 0; b + 1 < kv_offsets.size(); ++b) {
    const int64_t queries = use.in(3).index(b + 1) - use.in(3).index(b);
    const int64_t keys = kv_offsets.index(b + 1) - kv_offsets.index(b);
    if (queries > most_queries || keys > most_keys) {
      return absl::InvalidArgumentError(StrCat("sequence ", b, " has ", queries, " queries and ", keys,
                                               " keys; bias ", bias.ToString(), " is for ", most_queries,
                                               " and ", most_keys));
    }
  }
  return absl::OkStatus();
}

// The longest sum over keys; the offsets were checked.
int64_t MostKeys(const OpUse& use) {
  const Values& offsets = use.has(4) ? use.in(4) : use.in(3);
  int64_t most = 0;
  for (int64_t b = 0; b + 1 < offsets.size(); ++b)
    most = std::max(most, offsets.index(b + 1) - offsets.index(b));
  return most;
}

Status CheckData(const OpUse& use) {
  if (use.op == "attention") return CheckAttentionData(use);
  if (use.op != "gather") return absl::OkStatus();
  for (int64_t i = 0; i < use.in(1).size(); ++i) {
    const int64_t at = use.in(1).index(i);
    if (at >= 0 && at < use.in(0).dim(0)) continue;
    return absl::InvalidArgumentError(
        StrCat("index ", at, " at ", i, " is outside [0, ", use.in(0).dim(0), ")"));
  }
  return absl::OkStatus();
}

class OwnReference final : public Reference {
 public:
  static StatusOr<std::unique_ptr<Reference>> Make(const OpUse& use, size_t port,
                                                   const Arithmetic& arithmetic);
  int64_t pieces() const override { return blocks_; }
  double piece_flops() const override { return flops_ / static_cast<double>(std::max<int64_t>(1, blocks_)); }
  void Compute(int64_t piece, TruthSink& sink) const override;

 private:
  bool RowInput(size_t i) const { return (row_inputs_ >> i & 1) != 0; }

  const ops::OpChecks* checks_ = nullptr;
  const OpUse* use_ = nullptr;
  size_t port_ = 0;
  ops::OpCall call_;
  uint32_t row_inputs_ = 0;  // 0: all at once
  int64_t rows_ = 1, blocks_ = 1, row_elements_ = 0;
  double flops_ = 0, accumulate_ = 1;
};

// Runs the operator's reference on the rows of one block, or on everything.
void OwnReference::Compute(int64_t piece, TruthSink& sink) const {
  const bool whole = row_inputs_ == 0;
  const int64_t first = whole ? 0 : piece * kBlockRows;
  const int64_t count = whole ? rows_ : std::min(kBlockRows, rows_ - first);
  ops::OpCall call = call_;
  ops::RefIo io;
  io.in.resize(call.inputs.size());
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    if (!call.has(i)) continue;
    const Values& v = use_->in(i);
    const bool part = !whole && RowInput(i);
    io.in[i].dims = v.dims();
    if (part) io.in[i].dims[0] = count, call.inputs[i] = TypeOf(v, count);
    const int64_t row = part ? v.size() / std::max<int64_t>(1, rows_) : v.size();
    io.in[i].data.resize(static_cast<size_t>(part ? row * count : row));
    v.Load(part ? first * row : 0, part ? row * count : row, 1, io.in[i].data.data());
  }
  if (!whole) {
    StatusOr<std::vector<ValueType>> outputs = call.spec->infer(call);
    if (!outputs.ok()) return;
    call.outputs = *std::move(outputs);
  }
  for (const ValueType& type : call.outputs) {
    ops::RefTensor t;
    for (const Dim& d : type.shape) t.dims.push_back(d.offset());
    t.data.assign(static_cast<size_t>(ProductOf(t.dims, 0, t.dims.size())), 0);
    io.out.push_back(std::move(t));
  }
  checks_->reference(call, io);
  std::vector<double> limits;
  if (!line.exact) limits = checks_->tolerance.limit(call, io, port_);
  const ops::RefTensor& out = io.out[port_];
  const int64_t base = whole ? 0 : first * row_elements_;
  for (size_t i = 0; i < out.data.size(); ++i) {
    const double slack = limits.empty() ? 0 : limits[i] / accumulate_;
    sink.Put(base + static_cast<int64_t>(i), out.data[i], slack, slack);
  }
}

StatusOr<std::unique_ptr<Reference>> OwnReference::Make(const OpUse& use, size_t port,
                                                        const Arithmetic& arithmetic) {
  auto r = std::make_unique<OwnReference>();
  r->checks_ = ops::FindChecks(use.op);
  r->use_ = &use, r->port_ = port;
  r->accumulate_ = arithmetic.accumulate;
  const ops::OpSpec& spec = *r->checks_->spec;
  std::vector<std::optional<ValueType>> types;
  for (size_t i = 0; i < std::max(use.inputs.size(), spec.inputs.size()); ++i) {
    const bool optional = i < spec.inputs.size() && spec.inputs[i].optional;
    types.emplace_back();
    if (!use.has(i) && optional) continue;
    if (!use.has(i) && i >= use.inputs.size() && spec.variadic) break;
    PLINTH_RETURN_IF_ERROR(use.Need(i, i < spec.inputs.size() ? spec.inputs[i].name : "input"));
    if (use.in(i).rank() > kMaxRank) {
      return absl::UnimplementedError(
          StrCat("input ", i, " has ", use.in(i).rank(), " dimensions; at most ", kMaxRank, " are replayed"));
    }
    types[i] = TypeOf(use.in(i), -1);
  }
  PLINTH_ASSIGN_OR_RETURN(ops::Attributes attributes, AttributesOf(use, spec));
  PLINTH_ASSIGN_OR_RETURN(r->call_, ops::MakeCall(spec, std::move(types), std::move(attributes)));
  PLINTH_RETURN_IF_ERROR(CheckData(use));
  if (port >= r->call_.outputs.size()) {
    return absl::InvalidArgumentError(
        StrCat("output ", port, " does not exist; ", spec.name, " has ", r->call_.outputs.size()));
  }
  const Values& out = use.out(port);
  const ValueType& type = r->call_.outputs[port];
  std::vector<int64_t> dims;
  for (const Dim& d : type.shape) dims.push_back(d.offset());
  PLINTH_RETURN_IF_ERROR(ExpectDims("output", out.dims(), dims));
  if (type.dtype != out.format().storage) {
    return absl::InvalidArgumentError(
        StrCat("output is ", out.format().name, "; ", DTypeName(type.dtype), " is what the inputs give"));
  }
  std::vector<View> in, outs;
  for (size_t i = 0; i < r->call_.inputs.size(); ++i) {
    in.push_back(r->call_.has(i) ? DenseView(nullptr, use.in(i).format().storage, use.in(i).dims().data(),
                                             static_cast<int>(use.in(i).rank()))
                                 : View{});
  }
  outs.push_back(DenseView(nullptr, type.dtype, dims.data(), static_cast<int>(dims.size())));
  // Costs read nothing but sizes. The reference runs once and its limit about as often again.
  r->flops_ = port == 0 ? 2 * spec.cost(r->call_, in, outs).flops : 10 * static_cast<double>(out.size());
  r->rows_ = dims.empty() ? 1 : std::max<int64_t>(1, dims[0]);
  if (!dims.empty() && dims[0] > kBlockRows && spec.rows_independent && r->checks_->row_inputs != 0) {
    r->row_inputs_ = r->checks_->row_inputs;
    r->blocks_ = (dims[0] + kBlockRows - 1) / kBlockRows;
    r->row_elements_ = out.size() / dims[0];
    for (size_t i = 0; i < r->call_.inputs.size(); ++i) {
      const bool rows =
          !r->call_.has(i) || !r->RowInput(i) || (use.in(i).rank() > 0 && use.in(i).dims()[0] == dims[0]);
      if (!rows) r->row_inputs_ = 0, r->blocks_ = 1;
    }
  }
  const ops::ToleranceClass kind = r->checks_->tolerance.kind;
  const bool exact =
      kind == ops::ToleranceClass::kExact || kind == ops::ToleranceClass::kOrder || !out.format().floating;
  r->line = {.kind = kind,
             .exact = exact,
             .zero_sign = exact && kind == ops::ToleranceClass::kExact,
             .out_roundoffs = 0};
  if (use.op == "attention") r->line.depth = MostKeys(use);
  return r;
}

// Names that mean the same in both families, attributes included.
bool SameMeaning(const OpUse& use) {
  if (use.op == "linear") {
    const bool plain = !use.Has("activation") || (use.Find("activation")->text() != nullptr &&
                                                  *use.Find("activation")->text() == "none");
    return plain && !use.has(3);
  }
  return use.op == "matmul" || use.op == "layer_norm" || use.op == "rms_norm" || use.op == "softmax";
}

}  // namespace

bool IsOwnOperator(std::string_view op) { return ops::FindChecks(op) != nullptr; }

StatusOr<std::unique_ptr<Reference>> MakeOwnReference(const OpUse& use, size_t port,
                                                      const Arithmetic& arithmetic) {
  if (SameMeaning(use)) return MakeReference(use, port, arithmetic);
  return OwnReference::Make(use, port, arithmetic);
}

}  // namespace plinth::verify::replay
