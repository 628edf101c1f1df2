#include <cmath>

#include "plinth/ops/unary/checks.h"

namespace plinth::ops {
namespace {

struct Function {
  const char* name;
  double (*of)(double);
};

double Sigmoid(double x) { return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x)); }

// x/2 (1 + tanh(u)) = x / (1 + e^-2u), which does not cancel where tanh is near -1.
double GeluTanh(double x) {
  const double u = std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x);
  return x / (1 + std::exp(-2 * u));
}

// Overflow of e^-x at very negative x would give -inf / inf; the limit is x e^x.
double Silu(double x) { return x < -700 && std::isfinite(x) ? x * std::exp(x) : x / (1 + std::exp(-x)); }

double RoundHalfEven(double x) {
  const double whole = std::trunc(x), part = std::abs(x - whole);
  const bool up = part > 0.5 || (part == 0.5 && std::fmod(whole, 2) != 0);
  return std::copysign(std::abs(whole) + (up ? 1 : 0), x);
}

double Sign(double x) { return x > 0 ? 1 : x < 0 ? -1 : x; }

constexpr Function kFunctions[] = {
    {"abs", [](double x) { return std::abs(x); }},
    {"asinh", [](double x) { return std::asinh(x); }},
    {"ceil", [](double x) { return std::ceil(x); }},
    {"cos", [](double x) { return std::cos(x); }},
    {"erf", [](double x) { return std::erf(x); }},
    {"exp", [](double x) { return std::exp(x); }},
    {"expm1", [](double x) { return std::expm1(x); }},
    {"floor", [](double x) { return std::floor(x); }},
    {"gelu", [](double x) { return x * (0.5 * std::erfc(-x * M_SQRT1_2)); }},
    {"gelu_tanh", GeluTanh},
    {"log", [](double x) { return std::log(x); }},
    {"log1p", [](double x) { return std::log1p(x); }},
    {"neg", [](double x) { return -x; }},
    {"reciprocal", [](double x) { return 1 / x; }},
    {"relu", [](double x) { return x < 0 ? 0 : x; }},
    {"round", RoundHalfEven},
    {"rsqrt", [](double x) { return 1 / std::sqrt(x); }},
    {"sigmoid", Sigmoid},
    {"sign", Sign},
    {"silu", Silu},
    {"sin", [](double x) { return std::sin(x); }},
    {"sinh", [](double x) { return std::sinh(x); }},
    {"softplus", [](double x) { return std::fmax(x, 0) + std::log1p(std::exp(-std::abs(x))); }},
    {"sqrt", [](double x) { return std::sqrt(x); }},
    {"square", [](double x) { return x * x; }},
    {"tanh", [](double x) { return std::tanh(x); }},
};

}  // namespace

// Square, root and reciprocal of a float round to the same float through double (Figueroa 1995), so all
// exact functions are compared with the rounded value; others with the double, cut at the range of float.
void UnaryReference(const OpCall& call, RefIo& io) {
  const std::string name = call.attributes.Text("function");
  const bool round = name == "square" || name == "sqrt" || name == "reciprocal";
  for (const Function& f : kFunctions) {
    if (name != f.name) continue;
    for (int64_t i = 0; i < io.in[0].size(); ++i) {
      const double y = f.of(io.in[0].data[i]);
      const double rounded = static_cast<double>(static_cast<float>(y));
      io.out[0].data[i] = round || std::isinf(rounded) ? rounded : y;
    }
  }
}

}  // namespace plinth::ops
