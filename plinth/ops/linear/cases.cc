#include <algorithm>
#include <cmath>

#include "plinth/ops/linear/activation.h"
#include "plinth/ops/linear/checks.h"
#include "plinth/ops/linear/op.h"

namespace plinth::ops {
namespace {

struct Size {
  int64_t m, n, k;
};

// x [m, k], a constant weight [n, k] and bias [n], no residual.
Case Product(std::string name, Size s, Fill x = Fill::kNormal, Fill weight = Fill::kNormal) {
  return {std::move(name),
          {{.dims = {s.m, s.k}, .fill = x},
           {.dims = {s.n, s.k}, .fill = weight, .constant = true},
           {.dims = {s.n}, .constant = true},
           {.dims = {s.m, s.n}, .absent = true}},
          {}};
}

Case With(Case c, const char* activation, bool residual) {
  c.attributes.Set("activation", std::string(activation));
  const bool halves = std::string_view(activation) == "swiglu";
  InputCase& r = c.inputs[3];
  r.absent = !residual;
  r.dims = c.inputs[0].dims;
  r.dims.back() = c.inputs[1].dims[0] / (halves ? 2 : 1);
  return c;
}

void AddSizes(std::vector<Case>& cases) {
  for (int64_t s : OddSizes()) {
    cases.push_back(Product(StrCat("m", s), {s, 37, 19}));
    cases.push_back(Product(StrCat("n", s), {17, s, 19}));
    cases.push_back(Product(StrCat("k", s), {17, 37, s}));
  }
  for (int64_t s : {3, 4, 5, 6, 7, 8, 9, 12, 13, 14, 27, 28, 29, 125, 126, 127, 253}) {
    cases.push_back(Product(StrCat("rows", s), {s, 96, 40}));
  }
  for (int64_t k : {255, 256, 257, 511, 512, 513}) cases.push_back(Product(StrCat("depth", k), {15, 65, k}));
  cases.push_back(Product("k4099", {5, 33, 4099}));
  cases.push_back(Product("tall", {3001, 3, 5}));
  cases.push_back(Product("wide", {2, 1025, 300}));
  cases.push_back(Product("one_row", {1, 2048, 512}, Fill::kNormal));
  cases.push_back(Product("square", {256, 256, 256}));
  cases.push_back(Product("large", {1056, 512, 768}));
  cases[cases.size() - 1].tier = Tier::kCi;
}

void AddFills(std::vector<Case>& cases) {
  const Size s{9, 33, 65};
  cases.push_back(Product("huge", s, Fill::kHuge));
  cases.push_back(Product("tiny", s, Fill::kTiny));
  cases.push_back(Product("underflow", s, Fill::kTiny, Fill::kTiny));
  cases.push_back(Product("subnormal", s, Fill::kSubnormal));
  cases.push_back(Product("wide_range", s, Fill::kWide, Fill::kWide));
  cases.push_back(Product("offset", s, Fill::kOffset, Fill::kOffset));
  cases.push_back(Product("special", s, Fill::kSpecial));
  cases.push_back(Product("special_weight", s, Fill::kNormal, Fill::kSpecial));
  cases.push_back(Product("special_by_zero", s, Fill::kSpecial, Fill::kZeros));
  cases.push_back(Product("zeros", s, Fill::kZeros));
  cases.push_back(Product("exact", s, Fill::kTies, Fill::kTies));
  Case overflow = Product("overflow", {1, 2, 2});
  overflow.inputs[0].fill = overflow.inputs[1].fill = Fill::kValues;
  overflow.inputs[0].values = {3e38, 3e38}, overflow.inputs[1].values = {2, 2, -1, -1};
  cases.push_back(overflow);
}

void AddEpilogues(std::vector<Case>& cases) {
  for (const char* activation : kActivationNames) {
    for (bool residual : {false, true}) {
      const std::string name = StrCat(activation, residual ? "_residual" : "");
      cases.push_back(With(Product(name, {33, 70, 40}), activation, residual));
      cases.push_back(With(Product(StrCat(name, "_deep"), {15, 64, 300}), activation, residual));
      cases.push_back(With(Product(StrCat(name, "_row"), {1, 256, 300}), activation, residual));
    }
    cases.push_back(
        With(Product(StrCat(activation, "_special"), {9, 34, 20}, Fill::kSpecial), activation, true));
  }
}

void AddLayouts(std::vector<Case>& cases) {
  const Size s{19, 45, 67};
  Case c = With(Product("misaligned", s), "none", true);
  for (InputCase& i : c.inputs) i.place = Place::kMisaligned;
  cases.push_back(c);
  c = With(Product("strided", s), "none", true);
  c.inputs[0].place = c.inputs[3].place = Place::kRowStrided;
  cases.push_back(c);
  c = With(Product("strided_gelu", s), "gelu", true);
  c.inputs[0].place = c.inputs[3].place = Place::kRowStrided;
  cases.push_back(c);
  for (const char* activation : {"none", "swiglu"}) {
    c = With(Product(StrCat("run_time_weight_", activation), {150, 66, 300}), activation, true);
    c.inputs[1].constant = c.inputs[2].constant = false;
    cases.push_back(c);
  }
  c = Product("no_bias", s);
  c.inputs[2].absent = true;
  cases.push_back(c);
  c = Product("rank1", s);
  c.inputs[0].dims = {67};
  cases.push_back(c);
  c = Product("rank4", s);
  c.inputs[0].dims = {2, 3, 5, 67};
  cases.push_back(c);
}

std::vector<Case> Cases() {
  std::vector<Case> cases;
  AddSizes(cases);
  AddFills(cases);
  AddEpilogues(cases);
  AddLayouts(cases);
  return cases;
}

std::vector<Refusal> Refusals() {
  const ValueType x{DType::kF32, {3, 5}}, w{DType::kF32, {8, 5}};
  const auto f32 = [](Shape s) { return ValueType{DType::kF32, std::move(s)}; };
  return {
      {"f16_weight", {x, ValueType{DType::kF16, {8, 5}}}, {}, "weight is f16; f32 is supported"},
      {"scalar", {f32({}), w}, {}, "at least one dimension"},
      {"vector_weight", {x, f32({5})}, {}, "must be [outputs, inputs]"},
      {"columns", {f32({3, 6}), w}, {}, "x has 6 columns and weight [8, 5] takes 5"},
      {"bias", {x, w, f32({5})}, {}, "bias is [5]; it must be [8]"},
      {"residual", {x, w, std::nullopt, f32({3, 5})}, {}, "residual is [3, 5]; it must be [3, 8]"},
      {"activation", {x, w}, {{"activation", std::string("elu")}}, "activation \"elu\" is unknown"},
      {"odd_swiglu", {x, f32({7, 5})}, {{"activation", std::string("swiglu")}}, "constant and even"},
      {"missing", {x, std::nullopt}, {}, "\"weight\" is missing"},
  };
}

// Bounds the error of one sum h of K products and a bias, and its size. With fused multiply-adds in any
// order of the K terms the error is at most gamma_K * S, S = sum |x||w| + |bias| (Higham, Accuracy and
// Stability, 3.1); the probabilistic bound with lambda = 6 is 6 sqrt(K) u S and fails with a chance of
// 3e-8 (Higham and Mary 2019). The smaller of the two is taken, plus one for the bias. Each of the K
// roundings may also lose up to half a subnormal step.
struct Sum {
  double value, error;
};
Sum SumOf(const OpCall& call, const RefIo& io, int64_t row, int64_t n) {
  const RefTensor &x = io.in[0], &w = io.in[1];
  const int64_t depth = w.dims[1];
  double value = 0, size = 0;
  for (int64_t k = 0; k < depth; ++k) {
    const double term = x.data[row * depth + k] * w.data[n * depth + k];
    value += term, size += std::abs(term);
  }
  if (call.has(2)) value += io.in[2].data[n], size += std::abs(io.in[2].data[n]);
  // Products are rounded by themselves at x86-64-v2, which has no fused multiply-add: twice the roundings.
  const double steps = 2 * static_cast<double>(depth) + 1;
  return {value, kUnitRoundoff * size * std::min(steps, 6 * std::sqrt(steps)) + steps * 0x1p-149};
}

// The activations' slopes are at most 1.13, so an error e of the sum becomes at most 1.13 e; their own
// evaluation adds at most 6 u of the size of its factors: |h| for gelu and silu, 1 for sigmoid and tanh,
// and for gelu_tanh the rounding of its cubic argument, which the falling slope of tanh keeps below
// 4 u |h|.
std::vector<double> Limit(const OpCall& call, const RefIo& io, size_t) {
  const RefTensor& y = io.out[0];
  const std::string activation = call.attributes.Text("activation", "none");
  const int64_t outputs = y.dims.back();
  std::vector<double> limit(y.data.size());
  for (int64_t i = 0; i < y.size(); ++i) {
    const int64_t row = i / outputs, n = i % outputs;
    Sum h = SumOf(call, io, row, n);
    // An infinite sum is infinite in any order, and what an activation makes of it is exact up to its own
    // rounding.
    if (std::isinf(h.value)) h = {0, 0};
    double error = h.error, value = std::abs(h.value);
    if (activation == "swiglu") {
      const Sum pair = SumOf(call, io, row, outputs + n);
      const double silu = std::abs(h.value / (1 + std::exp(-h.value)));
      error = (1.13 * error + 6 * kUnitRoundoff * value) * (std::abs(pair.value) + pair.error) +
              silu * pair.error;
      value = silu * std::abs(pair.value);
      error += kUnitRoundoff * value;
    } else if (activation != "none" && activation != "relu") {
      const bool bounded = activation == "sigmoid" || activation == "tanh";
      error = 1.13 * error + (activation == "gelu_tanh" ? 10 : 6) * kUnitRoundoff * (bounded ? 1 : value);
    }
    // The residual's sum rounds once.
    limit[i] = error + 2 * kUnitRoundoff * std::abs(y.data[i]) + 2 * 0x1p-149;
  }
  return limit;
}

}  // namespace

const OpChecks& LinearChecks() {
  static const OpChecks checks{
      .spec = &LinearSpec(),
      .attacks =
          "Rows, columns and depths around the tile, panel and block sizes (edge tiles, padded columns, sums "
          "that continue over depth blocks), every activation with and without residual, rows that lie "
          "strided or misaligned, weights known only at run time, and values that a product must not lose: "
          "infinity times zero, NaN, overflow, underflow, cancellation.",
      .reference = LinearReference,
      .cases = Cases,
      .refusals = Refusals,
      .tolerance = {.kind = ToleranceClass::kMatmul,
                    .limit = Limit,
                    .derivation = "min(2K + 1, 6 sqrt(2K + 1)) u (sum |x||w| + |bias|), times the slope of "
                                  "the activation, plus its own rounding and that of the residual"},
      .row_inputs = 0b1001,  // x and the residual
  };
  return checks;
}

}  // namespace plinth::ops
