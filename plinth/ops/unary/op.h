// Declares unary: functions of one element.
#pragma once

#include "plinth/ops/builder.h"

namespace plinth::ops {

const OpSpec& UnarySpec();

// y[i] = function(x[i]). x: f32, any shape. NaN gives NaN; signs of zero are those of the exact function.
//   exact          relu abs neg sign floor ceil round (half to even) square sqrt reciprocal
//   up to 1 ULP    exp
//   up to 2 ULP    expm1 log log1p rsqrt sin cos erf
//   up to 3 ULP    tanh sigmoid silu softplus sinh asinh
//   up to 5 ULP    gelu (exact: x/2 (1 + erf(x/sqrt 2))), gelu_tanh (its approximation by tanh)
// relu(-0) is -0 and sign(+-0) is +-0. gelu, gelu_tanh and silu of -infinity are NaN, being
// -infinity * 0. sin and cos hold their accuracy at every finite argument.
inline Value Unary(Builder& b, std::string_view function, Value x) {
  return b.Add1(UnarySpec(), {x}, {{"function", std::string(function)}});
}

inline Value Relu(Builder& b, Value x) { return Unary(b, "relu", x); }
inline Value Gelu(Builder& b, Value x) { return Unary(b, "gelu", x); }
inline Value GeluTanh(Builder& b, Value x) { return Unary(b, "gelu_tanh", x); }
inline Value Silu(Builder& b, Value x) { return Unary(b, "silu", x); }
inline Value Tanh(Builder& b, Value x) { return Unary(b, "tanh", x); }
inline Value Sigmoid(Builder& b, Value x) { return Unary(b, "sigmoid", x); }
inline Value Softplus(Builder& b, Value x) { return Unary(b, "softplus", x); }
inline Value Exp(Builder& b, Value x) { return Unary(b, "exp", x); }
inline Value Expm1(Builder& b, Value x) { return Unary(b, "expm1", x); }
inline Value Log(Builder& b, Value x) { return Unary(b, "log", x); }
inline Value Log1p(Builder& b, Value x) { return Unary(b, "log1p", x); }
inline Value Sinh(Builder& b, Value x) { return Unary(b, "sinh", x); }
inline Value Asinh(Builder& b, Value x) { return Unary(b, "asinh", x); }
inline Value Sqrt(Builder& b, Value x) { return Unary(b, "sqrt", x); }
inline Value Rsqrt(Builder& b, Value x) { return Unary(b, "rsqrt", x); }
inline Value Square(Builder& b, Value x) { return Unary(b, "square", x); }
inline Value Abs(Builder& b, Value x) { return Unary(b, "abs", x); }
inline Value Neg(Builder& b, Value x) { return Unary(b, "neg", x); }
inline Value Reciprocal(Builder& b, Value x) { return Unary(b, "reciprocal", x); }
inline Value Floor(Builder& b, Value x) { return Unary(b, "floor", x); }
inline Value Ceil(Builder& b, Value x) { return Unary(b, "ceil", x); }
inline Value Round(Builder& b, Value x) { return Unary(b, "round", x); }
inline Value Sin(Builder& b, Value x) { return Unary(b, "sin", x); }
inline Value Cos(Builder& b, Value x) { return Unary(b, "cos", x); }
inline Value Erf(Builder& b, Value x) { return Unary(b, "erf", x); }
inline Value Sign(Builder& b, Value x) { return Unary(b, "sign", x); }

}  // namespace plinth::ops
