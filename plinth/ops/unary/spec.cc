#include "plinth/ops/unary/cpu.h"
#include "plinth/ops/unary/op.h"

namespace plinth::ops {
namespace {

#define PLINTH_UNARY_NAME(text, fn) text,
constexpr std::string_view kNames[] = {PLINTH_UNARY_FUNCTIONS(PLINTH_UNARY_NAME)};
#undef PLINTH_UNARY_NAME

// The index of the call's function, or -1.
int32_t FunctionOf(const OpCall& call) {
  const std::string function = call.attributes.Text("function");
  int32_t index = 0;
  for (std::string_view name : kNames) {
    if (function == name) return index;
    ++index;
  }
  return -1;
}

StatusOr<std::vector<ValueType>> Infer(const OpCall& call) {
  const ValueType& x = call.in(0);
  if (x.dtype != DType::kF32) {
    return Refuse(call, StrCat("x is ", DTypeName(x.dtype), "; f32 is supported"));
  }
  if (FunctionOf(call) < 0) {
    return Refuse(call, StrCat("function \"", call.attributes.Text("function"), "\" is unknown; there are ",
                               Join(kNames, ", ")));
  }
  return std::vector<ValueType>{x};
}

// Sums and products count 1, elementary functions 8, gelu 10.
double FlopsOf(std::string_view function) {
  for (std::string_view one :
       {"abs", "ceil", "floor", "neg", "reciprocal", "relu", "round", "sign", "sqrt", "square"}) {
    if (function == one) return 1;
  }
  return function == "gelu" || function == "gelu_tanh" ? 10 : 8;
}

Cost CostOf(const OpCall& call, absl::Span<const View> in, absl::Span<const View> out) {
  const double each = FlopsOf(call.attributes.Text("function"));
  return {each * static_cast<double>(in[0].size()), 0, Bytes(in) + Bytes(out)};
}

Params ParamsOf(const OpCall& call) { return Params::Of(UnaryParams{FunctionOf(call)}); }

int64_t Pieces(const View*, const View* out, const Params&) {
  return PiecesOf(out[0].size(), kPieceElements);
}

}  // namespace

const OpSpec& UnarySpec() {
  static const OpSpec spec{
      .name = "unary",
      .summary = "a function of one element",
      .inputs = {{"x", false, Layout::kAny}},
      .attributes = {{"function", AttrKind::kText,
                      "a name such as relu, gelu or exp; ops/unary/op.h lists them"}},
      .infer = Infer,
      .cost = CostOf,
      .in_place = 1,
      .rows_independent = true,
      .cpu = {{.name = "f32",
               .run = PLINTH_CPU_FNS(UnaryF32),
               .refuse = nullptr,
               .params = ParamsOf,
               .pieces = Pieces}},
  };
  return spec;
}

}  // namespace plinth::ops
