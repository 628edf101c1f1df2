#include <cmath>

#include "plinth/ops/binary/checks.h"

namespace plinth::ops {
namespace {

double Lower(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return NAN;
  if (a == b) return std::signbit(a) ? a : b;
  return a < b ? a : b;
}

double Higher(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return NAN;
  if (a == b) return std::signbit(a) ? b : a;
  return a < b ? b : a;
}

double Real(const std::string& f, double a, double b) {
  if (f == "add") return a + b;
  if (f == "sub") return a - b;
  if (f == "mul") return a * b;
  if (f == "div") return a / b;
  if (f == "min") return Lower(a, b);
  if (f == "max") return Higher(a, b);
  return std::pow(a, b);
}

// The mathematical result reduced to `bits` bits of two's complement.
double Whole(const std::string& f, double a, double b, int bits) {
  const __int128 x = static_cast<__int128>(a), y = static_cast<__int128>(b);
  if (f == "min") return static_cast<double>(x < y ? x : y);
  if (f == "max") return static_cast<double>(x < y ? y : x);
  __int128 r = f == "add" ? x + y : f == "sub" ? x - y : x * y;
  const __int128 span = static_cast<__int128>(1) << bits;
  r %= span;
  if (r < 0) r += span;
  if (r >= span / 2) r -= span;
  return static_cast<double>(r);
}

// The element of `x` that stands at flat position `i` of an output with `dims`.
double Element(const RefTensor& x, const std::vector<int64_t>& dims, int64_t i) {
  int64_t at = 0, stride = 1;
  for (size_t back = 1; back <= dims.size(); ++back) {
    const int64_t index = i % dims[dims.size() - back];
    i /= dims[dims.size() - back];
    if (back > x.dims.size()) continue;
    const int64_t own = x.dims[x.dims.size() - back];
    if (own != 1) at += index * stride;
    stride *= own;
  }
  return x.data[at];
}

}  // namespace

// For f32 the double result is rounded to float, which is the correctly rounded result of the four
// basic operations: double carries more than twice the digits plus two (Figueroa 1995).
void BinaryReference(const OpCall& call, RefIo& io) {
  const std::string f = call.attributes.Text("function");
  const DType dtype = call.in(0).dtype;
  RefTensor& y = io.out[0];
  for (int64_t i = 0; i < y.size(); ++i) {
    const double a = Element(io.in[0], y.dims, i), b = Element(io.in[1], y.dims, i);
    if (dtype == DType::kI32 || dtype == DType::kI64) {
      y.data[i] = Whole(f, a, b, dtype == DType::kI32 ? 32 : 64);
    } else {
      const double r = Real(f, a, b);
      y.data[i] = dtype == DType::kF32 ? static_cast<double>(static_cast<float>(r)) : r;
    }
  }
}

}  // namespace plinth::ops
