#include "plinth/verify/replay/variants.h"

#include <cmath>
#include <cstdio>
#include <memory>
#include <vector>

namespace plinth::verify::replay {
namespace {

using formats::JsonValue;

struct Variant {
  std::string fault;
  OpUse use;
  Arithmetic arithmetic;
  std::shared_ptr<std::vector<std::vector<double>>> held;  // what `use` borrows beside the capture
};

// To `fraction` stored bits, to nearest or towards zero.
double CutTo(int fraction, bool nearest, double x) {
  if (x == 0 || !std::isfinite(x)) return x;
  const int shift = fraction - std::ilogb(x);
  const double scaled = std::scalbn(x, shift);
  return std::scalbn(nearest ? std::nearbyint(scaled) : std::trunc(scaled), -shift);
}

class Variants {
 public:
  Variants(const OpUse& use, size_t port, const Arithmetic& arithmetic)
      : use_(use), port_(port), arithmetic_(arithmetic) {}

  std::vector<Variant> List() {
    const std::string& op = use_.op;
    if (op == "linear" || op == "matmul" || op == "conv1d" || op == "conv2d") Products();
    if (op == "layer_norm" || op == "rms_norm" || op == "batch_norm") Norms();
    if (op == "attention") Attentions();
    if (op == "gelu") {
      for (const char* other : {"none", "tanh", "sigmoid"}) {
        With(StrCat("gelu computed as ", std::string_view(other) == "none" ? "erf" : other), "approximate",
             JsonValue(std::string(other)));
      }
    }
    if (op == "rotary") {
      With("rotary with interleaved pairs instead of halves", "style", JsonValue(std::string("interleaved")));
      With("rotary with halves instead of interleaved pairs", "style", JsonValue(std::string("halves")));
    }
    if (op == "softmax" || op == "log_softmax") OtherAxes();
    if (op == "sort") {
      With("sorted in descending order", "descending", JsonValue(true));
      With("sorted in ascending order", "descending", JsonValue(false));
    }
    if (op == "top_k") {
      With("the smallest were taken", "largest", JsonValue(false));
      With("the largest were taken", "largest", JsonValue(true));
    }
    return std::move(list_);
  }

 private:
  void Add(std::string fault, OpUse use) {
    list_.push_back({std::move(fault), std::move(use), arithmetic_, {}});
  }
  void With(std::string fault, std::string_view attribute, JsonValue value) {
    OpUse use = use_;
    use.Set(attribute, std::move(value));
    Add(std::move(fault), std::move(use));
  }
  void Without(std::string fault, size_t input) {
    if (!use_.has(input)) return;
    OpUse use = use_;
    use.inputs[input] = {};
    Add(std::move(fault), std::move(use));
  }
  void Coarser(std::string fault, double operand, double accumulate) {
    if (operand <= arithmetic_.operand && accumulate <= arithmetic_.accumulate) return;
    Arithmetic a = arithmetic_;
    a.operand = std::max(a.operand, operand), a.accumulate = std::max(a.accumulate, accumulate);
    list_.push_back({std::move(fault), use_, a, {}});
  }

  // Both operands rounded to a shorter format: what matrix units do with them.
  void Operands(const std::string& fault, int fraction) {
    for (const bool nearest : {true, false}) {
      OpUse use = use_;
      auto held = std::make_shared<std::vector<std::vector<double>>>();
      for (const size_t i : {size_t{0}, size_t{1}}) {
        std::vector<double>& values = held->emplace_back(use_.in(i).All());
        for (double& v : values) v = CutTo(fraction, nearest, v);
        use.inputs[i].values.emplace(FormatOf(DType::kF64), use_.in(i).dims(),
                                     reinterpret_cast<const std::byte*>(values.data()));
      }
      list_.push_back({fault, std::move(use), arithmetic_, std::move(held)});
    }
  }

  void Products() {
    Without("the bias is missing", 2);
    if (use_.op == "linear" && use_.in(1).dim(0) == use_.in(1).dim(1)) Transposed();
    const NumberFormat& out = use_.out(port_).format();
    const bool wide = out.roundoff() < 0x1p-20;
    if (wide) Operands("tf32 behind f32", 10);
    if (wide || out.name == "f16") Operands(wide ? "bf16 behind f32" : "bf16 behind f16", 7);
    // A level explains only how large errors are: what computes the very numbers comes first.
    if (wide) Coarser("tf32 behind f32", 0x1p-11, 0);
    Coarser("sums accumulated in f16", 0, 0x1p-11);
    Coarser("sums accumulated in bf16", 0, 0x1p-8);
  }
  // The weight read as [K, N].
  void Transposed() {
    OpUse use = use_;
    use.op = "matmul";
    use.attributes.clear();
    Add("the weight is transposed", std::move(use));
  }
  void Norms() {
    for (const double eps : {1e-5, 1e-6, 1e-8, 1e-12, 0.0, 1e-3}) {
      char text[32];
      std::snprintf(text, sizeof(text), "%g", eps);
      With(StrCat("eps is ", text), "eps", JsonValue(eps));
    }
    Without("the bias is missing", 2);
    Without("the weight is missing", 1);
    if (use_.op != "rms_norm") return;
    With("the weight lacks its offset", "weight_offset", JsonValue(0.0));
    With("the weight has an offset of 1", "weight_offset", JsonValue(1.0));
  }
  void Attentions() {
    for (const int64_t shift : {1, -1}) {
      With(StrCat("the causal mask is off by one (", shift > 0 ? "one key too many" : "one key too few", ")"),
           "causal_shift", JsonValue(shift));
      list_.back().use.Set("is_causal", JsonValue(true));
    }
    With("the causal mask is missing", "is_causal", JsonValue(false));
    With("a causal mask was applied", "is_causal", JsonValue(true));
    const int64_t later = use_.in(1).dim(-2) - use_.in(0).dim(-2);
    if (later != 0) {
      With("the causal mask counts from the end", "causal_shift", JsonValue(later));
      list_.back().use.Set("is_causal", JsonValue(true));
    }
    Without("the mask is ignored", 3);
    With("the scores are not scaled", "scale", JsonValue(1.0));
    With("the scores are scaled by 1/sqrt(D)", "scale",
         JsonValue(1 / std::sqrt(static_cast<double>(use_.in(0).dim(-1)))));
  }
  void OtherAxes() {
    for (size_t d = 0; d < use_.in(0).rank(); ++d) {
      With(StrCat("computed along axis ", d), "dim", JsonValue(static_cast<int64_t>(d)));
    }
  }

  const OpUse& use_;
  size_t port_;
  const Arithmetic& arithmetic_;
  std::vector<Variant> list_;
};

}  // namespace

std::string ExplainFault(const OpUse& use, size_t port, const Arithmetic& arithmetic, const Way& way,
                         Threads& threads) {
  if (way.stats.structure > 0) return "values that are not finite on one side only";
  // Cutting every partial sum loses at most 2u of it each time; coarser arithmetic would explain that too.
  const double most = 2 * static_cast<double>(way.line.depth) * arithmetic.accumulate;
  if (way.shrinks && -way.stats.shrink() < most) return "sums that are cut off instead of rounded";
  for (const Variant& v : Variants(use, port, arithmetic).List()) {
    const StatusOr<std::unique_ptr<Reference>> reference = MakeReference(v.use, port, v.arithmetic);
    if (!reference.ok()) continue;
    if (Judge(**reference, use.out(port), v.arithmetic, {.flops = 1e9}, threads).holds()) return v.fault;
  }
  const double scale = 1 + way.stats.shrink();
  if (way.stats.residual() < 1e-4 * way.stats.sum_error2 && std::abs(scale - 1) > 1e-3) {
    char text[32];
    std::snprintf(text, sizeof(text), "%.4g", scale);
    return StrCat("all results are scaled by ", text);
  }
  return "";
}

}  // namespace plinth::verify::replay
