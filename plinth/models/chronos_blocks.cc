#include "plinth/models/chronos_blocks.h"

#include <cmath>

#include "plinth/ops/binary/op.h"
#include "plinth/ops/concat/op.h"
#include "plinth/ops/linear/op.h"
#include "plinth/ops/rms_norm/op.h"
#include "plinth/ops/unary/op.h"

namespace plinth::models {
namespace {

using ops::Activation;
using ops::Scope;
using ops::Value;

// Names that published configurations use, and the function each stands for.
constexpr struct {
  const char* name;
  Activation function;
} kActivations[] = {
    {"relu", Activation::kRelu},         {"gelu", Activation::kGelu},
    {"gelu_new", Activation::kGeluTanh}, {"gelu_pytorch_tanh", Activation::kGeluTanh},
    {"silu", Activation::kSilu},         {"swish", Activation::kSilu},
    {"sigmoid", Activation::kSigmoid},   {"tanh", Activation::kTanh},
    {"linear", Activation::kNone},
};

Value ProjectBiased(ops::Builder& b, std::string_view name, Value x, int64_t from, int64_t to) {
  Scope scope(b, name);
  const Value weight = b.Constant("weight", DType::kF32, {to, from});
  return b.Name(ops::Linear(b, x, weight, b.Constant("bias", DType::kF32, {to})));
}

}  // namespace

StatusOr<ChronosActivation> ReadChronosActivation(const formats::Config& config) {
  PLINTH_ASSIGN_OR_RETURN(const std::string both, config.TextOr("feed_forward_proj", "relu"));
  const size_t dash = both.rfind('-');
  std::string said = dash == std::string::npos ? both : both.substr(dash + 1);
  // The one pair whose short name means another function than it says.
  if (both == "gated-gelu") said = "gelu_new";
  PLINTH_ASSIGN_OR_RETURN(const std::string name, config.TextOr("dense_act_fn", said));
  ChronosActivation act;
  PLINTH_ASSIGN_OR_RETURN(act.gated, config.FlagOr("is_gated_act", both.substr(0, dash) == "gated"));
  std::vector<std::string> known;
  for (const auto& a : kActivations) {
    if (name == a.name) {
      act.function = a.function;
      return act;
    }
    known.emplace_back(a.name);
  }
  return absl::InvalidArgumentError(StrCat(config.where(), ": the activation is ", formats::QuotedShort(name),
                                           "; known ones are ", Join(known, ", ")));
}

Value RootMeanNorm(ops::Builder& b, std::string_view name, Value x, int64_t width, double eps) {
  Scope scope(b, name);
  return b.Name(ops::RmsNorm(b, x, b.Constant("weight", DType::kF32, {width}), eps));
}

Value ProjectPlain(ops::Builder& b, std::string_view name, Value x, int64_t from, int64_t to) {
  Scope scope(b, name);
  return b.Name(ops::Linear(b, x, b.Constant("weight", DType::kF32, {to, from})));
}

Value Activate(ops::Builder& b, Activation act, Value x) {
  return act == Activation::kNone ? x : ops::Unary(b, ops::kActivationNames[static_cast<int>(act)], x);
}

Value ProjectTogether(ops::Builder& b, const std::vector<std::string_view>& names, Value x, int64_t from,
                      int64_t to) {
  std::vector<Value> weights;
  for (const std::string_view name : names) {
    Scope scope(b, name);
    weights.push_back(b.Constant("weight", DType::kF32, {to, from}));
  }
  return ops::Linear(b, x, ops::Concat(b, weights, 0));
}

Value ResidualBlock(ops::Builder& b, std::string_view name, Value x, int64_t from, int64_t hidden, int64_t to,
                    Activation act) {
  Scope scope(b, name);
  const Value inside = Activate(b, act, ProjectBiased(b, "hidden_layer", x, from, hidden));
  const Value around = ProjectBiased(b, "residual_layer", x, from, to);
  return b.Name(ops::Add(b, ProjectBiased(b, "output_layer", inside, hidden, to), around));
}

series::Scale ChronosScale(std::span<const double> y) {
  constexpr double kConstantScale = 1e-5;
  bool any = false, varies = false;
  double first = 0;
  for (const double v : y) {
    if (!std::isfinite(v)) continue;
    if (!any) first = v;
    any = true;
    varies = varies || v != first;
  }
  if (!any) return {};
  // A mean that is rounded would leave a deviation of a few units in the last place, and not zero.
  if (!varies) return {first, kConstantScale};
  return series::MeanStd(y, /*floor_relative=*/0);
}

int64_t PatchGrid::Count(int64_t steps) const {
  const int64_t padded = (steps + size - 1) / size * size;
  return padded == 0 ? 0 : (padded - size) / stride + 1;
}

int64_t PatchGrid::Begin(int64_t steps, int64_t i) const {
  return steps - (steps + size - 1) / size * size + i * stride;
}

}  // namespace plinth::models
