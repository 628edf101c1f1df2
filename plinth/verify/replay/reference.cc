#include "plinth/verify/replay/reference.h"

#include "plinth/verify/replay/factories.h"

namespace plinth::verify::replay {
namespace {

using Maker = ReferenceOr (*)(const OpUse&, size_t, const Arithmetic&);

struct Entry {
  std::string_view op;
  Maker make;
  bool documented = true;  // else its attributes are PyTorch's arguments, as they happened to be given
};

// One operator a line, by the names of docs/operators.md, then of PyTorch's functions.
// clang-format off
constexpr Entry kMakers[] = {
    {"linear", MakeLinear},
    {"matmul", MakeMatmul},
    {"conv1d", MakeConvolution},
    {"conv2d", MakeConvolution},
    {"layer_norm", MakeLayerNorm},
    {"rms_norm", MakeRmsNorm},
    {"batch_norm", MakeBatchNorm, false},
    {"group_norm", MakeGroupNorm, false},
    {"softmax", MakeSoftmax},
    {"log_softmax", MakeSoftmax},
    {"attention", MakeAttention},
    {"rotary", MakeRotary},
    {"gelu", MakeUnary},
    {"silu", MakeUnary},
    {"relu", MakeUnary},
    {"sigmoid", MakeUnary},
    {"tanh", MakeUnary},
    {"exp", MakeUnary},
    {"log", MakeUnary},
    {"sqrt", MakeUnary},
    {"rsqrt", MakeUnary},
    {"erf", MakeUnary},
    {"sin", MakeUnary},
    {"cos", MakeUnary},
    {"abs", MakeUnary},
    {"neg", MakeUnary},
    {"reciprocal", MakeUnary},
    {"square", MakeUnary},
    {"softplus", MakeUnary},
    {"leaky_relu", MakeUnary},
    {"elu", MakeUnary},
    {"hardtanh", MakeUnary},
    {"hardsigmoid", MakeUnary},
    {"hardswish", MakeUnary},
    {"mish", MakeUnary},
    {"log1p", MakeUnary},
    {"expm1", MakeUnary},
    {"add", MakeBinary},
    {"sub", MakeBinary},
    {"mul", MakeBinary},
    {"div", MakeBinary},
    {"pow", MakeBinary},
    {"outer", MakeBinary},
    {"where", MakeChoice},
    {"masked_fill", MakeChoice},
    {"minimum", MakeChoice},
    {"maximum", MakeChoice},
    {"clamp", MakeChoice},
    {"gather", MakeChoice},
    {"max", MakeChoice, false},
    {"min", MakeChoice, false},
    {"amax", MakeChoice, false},
    {"amin", MakeChoice, false},
    {"stack", MakeChoice, false},
    {"repeat_interleave", MakeChoice, false},
    {"dropout", MakeChoice, false},
    {"max_pool1d", MakeChoice, false},
    {"max_pool2d", MakeChoice, false},
    {"avg_pool1d", MakeAveragePool, false},
    {"avg_pool2d", MakeAveragePool, false},
    {"adaptive_avg_pool1d", MakeAveragePool, false},
    {"adaptive_avg_pool2d", MakeAveragePool, false},
    {"lstm_cell", MakeCell, false},
    {"gru_cell", MakeCell, false},
    {"sum", MakeReduction, false},
    {"mean", MakeReduction, false},
    {"cumsum", MakeCumsum, false},
    {"embedding", MakeEmbedding},
    {"index_select", MakeEmbedding, false},
    {"cast", MakeCast},
    {"cat", MakeRearrangement, false},
    {"concat", MakeRearrangement, false},
    {"permute", MakeRearrangement, false},
    {"transpose", MakeRearrangement, false},
    {"t", MakeRearrangement, false},
    {"reshape", MakeRearrangement, false},
    {"view", MakeRearrangement, false},
    {"flatten", MakeRearrangement, false},
    {"unsqueeze", MakeRearrangement, false},
    {"squeeze", MakeRearrangement, false},
    {"contiguous", MakeRearrangement, false},
    {"clone", MakeRearrangement, false},
    {"copy", MakeRearrangement, false},
    {"sort", MakeSort},
    {"argsort", MakeSort, false},
    {"top_k", MakeSort},
    {"topk", MakeSort, false},
    {"sampling", MakeSampling},
    {"argmax", MakeSampling, false},
    {"multinomial", MakeSampling, false},
    {"quantize", MakeQuantise},
    {"dequantize", MakeQuantise},
    {"fake_quantize", MakeQuantise},
};
// clang-format on

const Entry* Find(std::string_view op) {
  for (const Entry& entry : kMakers) {
    if (entry.op == op) return &entry;
  }
  return nullptr;
}

}  // namespace

bool HasReference(std::string_view op) { return Find(op) != nullptr; }
bool IsDocumented(std::string_view op) { return Find(op) != nullptr && Find(op)->documented; }

StatusOr<std::unique_ptr<Reference>> MakeReference(const OpUse& use, size_t port,
                                                   const Arithmetic& arithmetic) {
  const Entry* entry = Find(use.op);
  if (entry == nullptr) {
    return absl::UnimplementedError(StrCat("there is no reference for operators called \"", use.op, "\""));
  }
  return entry->make(use, port, arithmetic);
}

Status ExpectDims(std::string_view what, const std::vector<int64_t>& found,
                  const std::vector<int64_t>& wanted) {
  if (found == wanted) return absl::OkStatus();
  return absl::InvalidArgumentError(StrCat(what, " has shape [", Join(found, ", "), "]; [",
                                           Join(wanted, ", "), "] is what the inputs give"));
}

}  // namespace plinth::verify::replay
