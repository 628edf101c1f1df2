#include "plinth/ops/linear/cpu.h"
#include "plinth/ops/linear/op.h"
#include "plinth/ops/linear/spec_onednn.h"
#include "plinth/ops/matrix_grid.h"
#include "plinth/tensor/resident.h"

namespace plinth::ops {
namespace {

enum Input : size_t { kX, kWeight, kBias, kResidual };

StatusOr<Activation> ActivationOf(const OpCall& call) {
  const std::string name = call.attributes.Text("activation", "none");
  for (int i = 0; i < kActivations; ++i) {
    if (name == kActivationNames[i]) return static_cast<Activation>(i);
  }
  return Refuse(call,
                StrCat("activation \"", name, "\" is unknown; it can be ", Join(kActivationNames, ", ")));
}

Status CheckTypes(const OpCall& call) {
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    if (call.has(i) && call.in(i).dtype != DType::kF32) {
      return Refuse(
          call, StrCat(call.spec->inputs[i].name, " is ", DTypeName(call.in(i).dtype), "; f32 is supported"));
    }
  }
  return absl::OkStatus();
}

StatusOr<std::vector<ValueType>> Infer(const OpCall& call) {
  PLINTH_RETURN_IF_ERROR(CheckTypes(call));
  PLINTH_ASSIGN_OR_RETURN(const Activation activation, ActivationOf(call));
  const Shape &x = call.in(kX).shape, &w = call.in(kWeight).shape;
  if (x.empty()) return Refuse(call, "x is a scalar; it needs at least one dimension");
  if (w.size() != 2) {
    return Refuse(call, StrCat("weight is ", ToString(w), "; it must be [outputs, inputs]"));
  }
  if (!(w[1] == x.back())) {
    return Refuse(call, StrCat("x has ", x.back().ToString(), " columns and weight ", ToString(w), " takes ",
                               w[1].ToString(), "; they must agree"));
  }
  Dim outputs = w[0];
  if (activation == Activation::kSwiglu) {
    if (!outputs.constant() || outputs.offset() % 2 != 0) {
      return Refuse(call, StrCat("swiglu halves the ", outputs.ToString(),
                                 " rows of weight; their number must be constant and even"));
    }
    outputs = Dim(outputs.offset() / 2);
  }
  if (call.has(kBias) && !(call.in(kBias).shape == Shape{w[0]})) {
    return Refuse(call,
                  StrCat("bias is ", ToString(call.in(kBias).shape), "; it must be ", ToString(Shape{w[0]})));
  }
  ValueType y = call.in(kX);
  y.shape.back() = outputs;
  if (call.has(kResidual) && !(call.in(kResidual).shape == y.shape)) {
    return Refuse(
        call, StrCat("residual is ", ToString(call.in(kResidual).shape), "; it must be ", ToString(y.shape)));
  }
  return std::vector<ValueType>{y};
}

// Two operations per product term; an activation counts as 10 per output, bias and residual as one.
Cost CostOf(const OpCall& call, absl::Span<const View> in, absl::Span<const View> out) {
  const double products = 2.0 * static_cast<double>(in[kX].rows()) * static_cast<double>(in[kWeight].size());
  double per_output = call.has(kBias) ? 1 : 0;
  if (call.has(kResidual)) per_output += 1;
  if (call.attributes.Text("activation", "none") != "none") per_output += 10;
  return {products + per_output * static_cast<double>(out[0].size()), products, Bytes(in) + Bytes(out)};
}

Params ParamsOf(const OpCall& call) {
  return Params::Of(LinearParams{*ActivationOf(call)});  // Infer has checked it
}

int64_t Pieces(const View* in, const View*, const Params&) {
  const View &x = in[kX], &w = in[kWeight];
  return MatrixGridOf(x.rows(), x.last(), MatrixCeil(w.dims[0], kMatrixUnit)).pieces();
}

int64_t ScratchBytes(const OpCall&, const View*, const View*, Isa) { return sizeof(MatrixScratch); }

StatusOr<CpuKernel::Prepared> Prepare(const OpCall& call, const View* constants, Isa isa) {
  const View& w = constants[kWeight];
  if (w.data == nullptr) return CpuKernel::Prepared{};
  const Params params = ParamsOf(call);
  const bool pairs = *ActivationOf(call) == Activation::kSwiglu;
  const int64_t panel = MatrixPanel(static_cast<int>(isa));
  const int64_t panels = pairs ? MatrixCeil(w.dims[0] / 2, panel / 2) : MatrixCeil(w.dims[0], panel);
  const int64_t bytes = panels * panel * w.dims[1] * static_cast<int64_t>(sizeof(float));
  AlignedBytes packed = AllocateResident(bytes);
  if (packed == nullptr) {
    return absl::ResourceExhaustedError(StrCat("linear: no memory for ", bytes, " bytes of packed weights"));
  }
  const View in[] = {View{}, w};
  constexpr CpuFns kPack = PLINTH_CPU_FNS(LinearPackF32);
  kPack.at[static_cast<int>(isa)](CpuArgs{in, nullptr, params.bytes, nullptr, packed.get(), nullptr}, 0, 1);
  return CpuKernel::Prepared{std::shared_ptr<const void>(std::move(packed)), bytes, 1u << kWeight};
}

}  // namespace

const OpSpec& LinearSpec() {
  static const OpSpec spec{
      .name = "linear",
      .summary = "activation(x W^T + bias) + residual",
      .inputs = {{"x", false, Layout::kRows},
                 {"weight", false, Layout::kDense},
                 {"bias", true, Layout::kDense},
                 {"residual", true, Layout::kRows}},
      .attributes = {{"activation", AttrKind::kText,
                      "none (default), relu, gelu, gelu_tanh, silu, sigmoid, tanh or swiglu"}},
      .infer = Infer,
      .cost = CostOf,
      .in_place = 1u << kResidual,
      .rows_independent = true,
      .cpu = {{.name = "panel_f32",
               .run = PLINTH_CPU_FNS(LinearF32),
               .refuse = nullptr,
               .params = ParamsOf,
               .pieces = Pieces,
               .scratch_bytes = ScratchBytes,
               .prepare = Prepare},
              LinearOneDnnKernel(ParamsOf)},
  };
  return spec;
}

}  // namespace plinth::ops
