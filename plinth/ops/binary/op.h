// Declares binary: functions of two elements, with broadcasting.
#pragma once

#include "plinth/ops/builder.h"

namespace plinth::ops {

const OpSpec& BinarySpec();

// y[i] = function(a[i], b[i]). Shapes are aligned at their last dimensions as in NumPy; along each one
// both are equal, or one is the constant 1 and is repeated. Named dimensions are equal only to
// themselves. a and b have one type:
//   f32            add sub mul div min max pow
//   f64            add sub mul div min max
//   i32, i64       add sub mul min max, wrapping around as two's complement does
// min and max are minimum and maximum of IEEE 754-2019: NaN where either is NaN, and -0 < +0. pow is
// the standard's pow (pow(x, 0) = pow(1, y) = 1 even for NaN), at most 1 ULP off; all else is rounded
// correctly.
inline Value Binary(Builder& b, std::string_view function, Value x, Value y) {
  return b.Add1(BinarySpec(), {x, y}, {{"function", std::string(function)}});
}

inline Value Add(Builder& b, Value x, Value y) { return Binary(b, "add", x, y); }
inline Value Sub(Builder& b, Value x, Value y) { return Binary(b, "sub", x, y); }
inline Value Mul(Builder& b, Value x, Value y) { return Binary(b, "mul", x, y); }
inline Value Div(Builder& b, Value x, Value y) { return Binary(b, "div", x, y); }
inline Value Min(Builder& b, Value x, Value y) { return Binary(b, "min", x, y); }
inline Value Max(Builder& b, Value x, Value y) { return Binary(b, "max", x, y); }
inline Value Pow(Builder& b, Value x, Value y) { return Binary(b, "pow", x, y); }

}  // namespace plinth::ops
