#include "plinth/verify/replay/reference.h"

#include "plinth/verify/replay/factories.h"

namespace plinth::verify::replay {
namespace {

using Maker = ReferenceOr (*)(const OpUse&, size_t, const Arithmetic&);

struct Entry {
  std::string_view op;
  Maker make;
};

// One operator a line, by the names of docs/captures.md and of PyTorch's functions.
// clang-format off
constexpr Entry kMakers[] = {
    {"linear", MakeLinear},
    {"matmul", MakeMatmul},
    {"conv1d", MakeConvolution},
    {"conv2d", MakeConvolution},
    {"layer_norm", MakeLayerNorm},
    {"rms_norm", MakeRmsNorm},
    {"batch_norm", MakeBatchNorm},
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
    {"add", MakeBinary},
    {"sub", MakeBinary},
    {"mul", MakeBinary},
    {"div", MakeBinary},
    {"sum", MakeReduction},
    {"mean", MakeReduction},
    {"cumsum", MakeCumsum},
    {"embedding", MakeEmbedding},
    {"index_select", MakeEmbedding},
    {"cast", MakeCast},
    {"cat", MakeRearrangement},
    {"concat", MakeRearrangement},
    {"permute", MakeRearrangement},
    {"transpose", MakeRearrangement},
    {"t", MakeRearrangement},
    {"reshape", MakeRearrangement},
    {"view", MakeRearrangement},
    {"flatten", MakeRearrangement},
    {"unsqueeze", MakeRearrangement},
    {"squeeze", MakeRearrangement},
    {"contiguous", MakeRearrangement},
    {"clone", MakeRearrangement},
    {"copy", MakeRearrangement},
    {"sort", MakeSort},
    {"argsort", MakeSort},
    {"top_k", MakeSort},
    {"topk", MakeSort},
    {"sampling", MakeSampling},
    {"argmax", MakeSampling},
    {"multinomial", MakeSampling},
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
