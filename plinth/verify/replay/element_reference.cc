// Functions of one or two elements, with broadcasting, and casts.
#include <cmath>

#include "plinth/verify/replay/broadcast.h"
#include "plinth/verify/replay/row_reference.h"

namespace plinth::verify::replay {
namespace {

using Real = long double;

constexpr int64_t kPiece = 1 << 15;

Real Sigmoid(Real x) { return 1 / (1 + std::exp(-x)); }
Real GeluErf(Real x) { return x / 2 * std::erfc(-x * 0.70710678118654752440084436210484903928L); }
Real GeluTanh(Real x) {
  return x / 2 * (1 + std::tanh(0.79788456080286535587989211986876373695L * (x + 0.044715L * x * x * x)));
}

// A function with its class. `slack` is how large, in roundoffs of the accumulator, the errors of its inner
// steps are where the result itself is small: 1 + erf(x) cancels for negative x, so errors stay of the size
// of x.
struct Function {
  const char* name;
  Real (*value)(Real x);
  ops::ToleranceClass kind;
  double ulps;
  double (*slack)(double x, double y);
};

double NoSlack(double, double) { return 0; }
double OfInput(double x, double) { return 8 * std::abs(x); }
double OfResult(double, double y) { return 4 * std::abs(y); }

using Class = ops::ToleranceClass;
constexpr Function kFunctions[] = {
    {"relu", [](Real x) { return x > 0 || std::isnan(x) ? x : Real{0}; }, Class::kExact, 0, NoSlack},
    {"abs", [](Real x) { return std::abs(x); }, Class::kExact, 0, NoSlack},
    {"neg", [](Real x) { return -x; }, Class::kExact, 0, NoSlack},
    {"sqrt", [](Real x) { return std::sqrt(x); }, Class::kArithmetic, 1, NoSlack},
    {"square", [](Real x) { return x * x; }, Class::kArithmetic, 1, NoSlack},
    {"reciprocal", [](Real x) { return 1 / x; }, Class::kArithmetic, 1, NoSlack},
    {"rsqrt", [](Real x) { return 1 / std::sqrt(x); }, Class::kTranscendental, 4, NoSlack},
    {"exp", [](Real x) { return std::exp(x); }, Class::kTranscendental, 4, NoSlack},
    {"log", [](Real x) { return std::log(x); }, Class::kTranscendental, 4, NoSlack},
    {"tanh", [](Real x) { return std::tanh(x); }, Class::kTranscendental, 4, NoSlack},
    {"erf", [](Real x) { return std::erf(x); }, Class::kTranscendental, 4, NoSlack},
    {"sigmoid", Sigmoid, Class::kTranscendental, 4, NoSlack},
    {"sin", [](Real x) { return std::sin(x); }, Class::kTranscendental, 4,
     [](double, double) { return 1.0; }},
    {"cos", [](Real x) { return std::cos(x); }, Class::kTranscendental, 4,
     [](double, double) { return 1.0; }},
    {"log1p", [](Real x) { return std::log1p(x); }, Class::kTranscendental, 4, NoSlack},
    {"expm1", [](Real x) { return std::expm1(x); }, Class::kTranscendental, 4, NoSlack},
    {"mish", [](Real x) { return x * std::tanh(x > 100 ? x : std::log1p(std::exp(x))); },
     Class::kTranscendental, 8, OfResult},
    // The sum x + 3 is rounded, and cancels near -3.
    {"hardsigmoid", [](Real x) { return std::clamp<Real>(x + 3, 0, 6) / 6; }, Class::kArithmetic, 1,
     [](double x, double) { return 1 + std::abs(x) / 2; }},
    {"hardswish", [](Real x) { return x * std::clamp<Real>(x + 3, 0, 6) / 6; }, Class::kArithmetic, 1,
     [](double x, double) { return std::abs(x) * (1 + std::abs(x) / 2); }},
    {"silu", [](Real x) { return x * Sigmoid(x); }, Class::kTranscendental, 4, OfResult},
    {"gelu", GeluErf, Class::kTranscendental, 8, OfInput},
    {"gelu.tanh", GeluTanh, Class::kTranscendental, 8, OfInput},
    // The product 1.702 x is rounded before the exponential.
    {"gelu.sigmoid", [](Real x) { return x * Sigmoid(1.702L * x); }, Class::kTranscendental, 8,
     [](double x, double y) { return 4 * std::abs(y) * (1 + std::abs(x)); }},
};

class ElementReference : public Reference {
 public:
  int64_t pieces() const override { return (size + kPiece - 1) / kPiece; }
  double piece_flops() const override { return 40.0 * kPiece; }
  void Compute(int64_t piece, TruthSink& sink) const override {
    const int64_t end = std::min(size, (piece + 1) * kPiece);
    for (int64_t i = piece * kPiece; i < end; ++i) Element(i, sink);
  }

 protected:
  virtual void Element(int64_t i, TruthSink& sink) const = 0;
  int64_t size = 0;
};

// 16-bit results of any function are rounded from f32: one unit in the last place.
double Ulps(const NumberFormat& out, double wide) { return out.roundoff() > 0x1p-20 ? 1 : wide; }

class Unary final : public ElementReference {
 public:
  static ReferenceOr Make(const OpUse& use, size_t port);

 private:
  void Element(int64_t i, TruthSink& sink) const override {
    const double x = (*x_)[i];
    const Real y = function_ != nullptr ? function_->value(x) : ByNumbers(x);
    const double slack = function_ != nullptr ? function_->slack(x, static_cast<double>(y))
                         : kind_ == 'e'       ? OfElu(x)
                                              : OfResult(x, static_cast<double>(y));
    sink.Put(i, y, slack, slack);
  }
  // exp(x) - 1 as its definition has it is rounded where it is of the size of exp(x), and cancels near zero.
  double OfElu(double x) const { return x > 0 ? 0 : 4 * std::abs(alpha_) * std::exp(x); }
  Real ByNumbers(Real x) const {
    switch (kind_) {
      case 'l':
        return x > 0 || std::isnan(x) ? x : x * slope_;
      case 'e':
        return x > 0 || std::isnan(x) ? x : alpha_ * std::expm1(x);
      case 'h':
        return std::isnan(x) ? x : std::min<Real>(std::max<Real>(x, low_), high_);
      default:
        return Softplus(x);
    }
  }
  Real Softplus(Real x) const { return x * beta_ > threshold_ ? x : std::log1p(std::exp(x * beta_)) / beta_; }

  const Function* function_ = nullptr;  // null: one with numbers of its own
  const Values* x_ = nullptr;
  char kind_ = 's';  // leaky_relu, elu, hardtanh or softplus
  double beta_ = 1, threshold_ = 20, slope_ = 0.01, alpha_ = 1, low_ = -1, high_ = 1;
};

ReferenceOr Unary::Make(const OpUse& use, size_t port) {
  PLINTH_RETURN_IF_ERROR(use.Need(0, "x"));
  auto r = std::make_unique<Unary>();
  std::string name = use.op;
  if (name == "gelu") {
    PLINTH_ASSIGN_OR_RETURN(const std::string approximate, use.Text("approximate", "none"));
    if (approximate != "none" && approximate != "tanh" && approximate != "sigmoid") {
      return absl::InvalidArgumentError(
          StrCat("approximate is \"", approximate, "\"; \"none\", \"tanh\" or \"sigmoid\" is expected"));
    }
    if (approximate != "none") name = StrCat("gelu.", approximate);
  }
  for (const Function& f : kFunctions) {
    if (name == f.name) r->function_ = &f;
  }
  PLINTH_ASSIGN_OR_RETURN(r->beta_, use.Real("beta", 1));
  PLINTH_ASSIGN_OR_RETURN(r->threshold_, use.Real("threshold", 20));
  PLINTH_ASSIGN_OR_RETURN(r->slope_, use.Real("negative_slope", 0.01));
  PLINTH_ASSIGN_OR_RETURN(r->alpha_, use.Real("alpha", 1));
  PLINTH_ASSIGN_OR_RETURN(r->low_, use.Real("min", -1));
  PLINTH_ASSIGN_OR_RETURN(r->high_, use.Real("max", 1));
  r->kind_ = name[0];
  PLINTH_RETURN_IF_ERROR(ExpectDims("output", use.out(port).dims(), use.in(0).dims()));
  r->x_ = &use.in(0);
  r->size = use.in(0).size();
  const NumberFormat& out = use.out(port).format();
  if (r->function_ == nullptr && (r->kind_ == 'l' || r->kind_ == 'h')) {
    const bool moves = r->kind_ == 'h';
    r->line = {.kind = moves ? Class::kExact : Class::kArithmetic,
               .exact = moves,
               .out_roundoffs = 0,
               .out_ulps = moves ? 0.0 : 1.0};
    return r;
  }
  if (r->function_ != nullptr) {
    r->line = {.kind = r->function_->kind,
               .exact = r->function_->kind == Class::kExact,
               .out_roundoffs = 0,
               .out_ulps = Ulps(out, r->function_->ulps)};
  } else {
    r->line = {.kind = Class::kTranscendental, .out_roundoffs = 0, .out_ulps = Ulps(out, 8)};
  }
  return r;
}

// add, sub, mul, div and pow of two tensors, or of one and a number; outer, whose first tensor is a column.
class Binary final : public ElementReference {
 public:
  static ReferenceOr Make(const OpUse& use, size_t port);

 private:
  void Element(int64_t i, TruthSink& sink) const override {
    Real a = Load(*a_, at_a_(i));
    Real b = b_ == nullptr ? static_cast<Real>(other_) : Load(*b_, at_b_(i));
    double slack = 0;
    Real y = 0;
    if (reverse_) std::swap(a, b);
    switch (kind_) {
      case '+':
      case '-': {
        // Contracted to one rounding or not.
        const Real second = b * static_cast<Real>(alpha_);
        if (alpha_ != 1 || b_ == nullptr) slack = static_cast<double>(std::abs(reverse_ ? a : second));
        y = kind_ == '+' ? a + second : a - second;
        break;
      }
      case '*':
        y = a * b;
        break;
      case '^':
        y = std::pow(a, b);
        // exp(b log a): the error of the logarithm counts b log a times.
        slack = static_cast<double>(std::abs(y)) *
                (4 + (a != 0 ? 2 * static_cast<double>(std::abs(b * std::log(std::abs(a)))) : 0));
        if (!std::isfinite(slack)) slack = 0;
        break;
      default:
        y = a / b;
    }
    // A number is rounded to the type that computes.
    if (b_ == nullptr) slack += static_cast<double>(std::abs(y));
    sink.Put(i, y, slack, slack);
  }
  // Integers as they are: 64 bits fit.
  static Real Load(const Values& v, int64_t i) {
    return v.format().floating ? static_cast<Real>(v[i]) : static_cast<Real>(v.integer(i));
  }

  const Values *a_ = nullptr, *b_ = nullptr;
  Broadcast at_a_, at_b_;
  double other_ = 0, alpha_ = 1;
  bool reverse_ = false;
  char kind_ = '+';
};

ReferenceOr Binary::Make(const OpUse& use, size_t port) {
  PLINTH_RETURN_IF_ERROR(use.Need(0, "a"));
  auto r = std::make_unique<Binary>();
  r->a_ = &use.in(0);
  std::vector<int64_t> dims = use.in(0).dims();
  if (use.has(1)) {
    PLINTH_RETURN_IF_ERROR(use.Need(1, "b"));
    r->b_ = &use.in(1);
    if (use.op == "outer") dims.push_back(1);
    PLINTH_ASSIGN_OR_RETURN(dims, BroadcastDims(dims, use.in(1).dims()));
    PLINTH_ASSIGN_OR_RETURN(r->at_b_, Broadcast::Make(use.in(1).dims(), dims));
  } else if (!use.Has("other")) {
    return absl::FailedPreconditionError("neither input 1 (b) nor the attribute \"other\" was recorded");
  }
  std::vector<int64_t> own = use.in(0).dims();
  if (use.op == "outer") own.push_back(1);
  PLINTH_ASSIGN_OR_RETURN(r->at_a_, Broadcast::Make(own, dims));
  PLINTH_ASSIGN_OR_RETURN(r->other_, use.Real("other", 0));
  PLINTH_ASSIGN_OR_RETURN(r->alpha_, use.Real("alpha", 1));
  PLINTH_ASSIGN_OR_RETURN(r->reverse_, use.Flag("reverse", false));
  PLINTH_RETURN_IF_ERROR(ExpectDims("output", use.out(port).dims(), dims));
  r->kind_ = use.op == "add"                        ? '+'
             : use.op == "sub"                      ? '-'
             : use.op == "mul" || use.op == "outer" ? '*'
             : use.op == "pow"                      ? '^'
                                                    : '/';
  r->size = ProductOf(dims, 0, dims.size());
  const bool floating = use.out(port).format().floating;
  r->line = {.kind = r->kind_ == '^' ? Class::kTranscendental : Class::kArithmetic,
             .exact = !floating,
             .out_roundoffs = 0,
             .out_ulps = r->kind_ == '^' ? Ulps(use.out(port).format(), 8) : 1};
  return r;
}

// Class A: the input rounded once. To integers: cut towards zero; what is out of range is not defined.
class Cast final : public ElementReference {
 public:
  static ReferenceOr Make(const OpUse& use, size_t port);

 private:
  void Element(int64_t i, TruthSink& sink) const override {
    if (!x_->format().floating) {
      const int64_t x = x_->integer(i);
      const bool fits = out_->floating || out_->storage == DType::kBool || InRange(static_cast<double>(x));
      if (!fits) return sink.Verdict(i, "");
      sink.Put(i, out_->storage == DType::kBool ? Real(x != 0) : static_cast<Real>(x), 0, 0);
      return;
    }
    const double x = (*x_)[i];
    if (out_->storage == DType::kBool && !out_->eight_bits) return sink.Put(i, x != 0 ? 1 : 0, 0, 0);
    if (out_->floating) {
      const bool beyond = saturate_ && std::abs(x) > out_->largest;
      return sink.Put(i, beyond ? std::copysign(out_->largest, x) : x, 0, 0);
    }
    if (std::isnan(x) || !InRange(std::trunc(x))) return sink.Verdict(i, "");
    sink.Put(i, std::trunc(x), 0, 0);
  }
  bool InRange(double x) const {
    const double low =
        out_->storage == DType::kU8 ? 0 : -out_->largest - (out_->storage == DType::kI64 ? 0 : 1);
    return x >= low && (out_->storage == DType::kI64 ? x < out_->largest : x <= out_->largest);
  }

  const Values* x_ = nullptr;
  const NumberFormat* out_ = nullptr;
  bool saturate_ = false;
};

ReferenceOr Cast::Make(const OpUse& use, size_t port) {
  PLINTH_RETURN_IF_ERROR(use.Need(0, "x"));
  PLINTH_RETURN_IF_ERROR(ExpectDims("output", use.out(port).dims(), use.in(0).dims()));
  auto r = std::make_unique<Cast>();
  r->x_ = &use.in(0);
  r->out_ = &use.out(port).format();
  PLINTH_ASSIGN_OR_RETURN(const std::string to, use.Text("to", r->out_->name));
  const NumberFormat* wanted = FindFormat(to);
  if (wanted == nullptr)
    return absl::InvalidArgumentError(StrCat("to is \"", to, "\", no type that captures know"));
  if (wanted->storage != r->out_->storage || wanted->fraction != r->out_->fraction ||
      wanted->nan != r->out_->nan) {
    return absl::InvalidArgumentError(
        StrCat("output is ", r->out_->name, ", a cast to ", to, " was asked for"));
  }
  PLINTH_ASSIGN_OR_RETURN(r->saturate_, use.Flag("saturate", false));
  r->size = use.in(0).size();
  r->line = {.kind = Class::kExact, .exact = true, .zero_sign = r->out_->nan != NanCodes::kNegZero};
  return r;
}

}  // namespace

ReferenceOr MakeUnary(const OpUse& use, size_t port, const Arithmetic&) { return Unary::Make(use, port); }
ReferenceOr MakeBinary(const OpUse& use, size_t port, const Arithmetic&) { return Binary::Make(use, port); }
ReferenceOr MakeCast(const OpUse& use, size_t port, const Arithmetic&) { return Cast::Make(use, port); }

}  // namespace plinth::verify::replay
