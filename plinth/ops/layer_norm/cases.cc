#include <algorithm>
#include <cmath>

#include "plinth/ops/layer_norm/checks.h"
#include "plinth/ops/layer_norm/op.h"

namespace plinth::ops {
namespace {

const InputCase kAbsent{.absent = true};

InputCase Weight(int64_t n) { return {.dims = {n}, .fill = Fill::kWide, .constant = true}; }
InputCase Bias(int64_t n) { return {.dims = {n}, .constant = true}; }

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (int64_t n : OddSizes()) {
    cases.push_back({StrCat("n", n), {{.dims = {3, n}}, Weight(n), Bias(n)}, {{"eps", 1e-5}}});
  }
  for (auto [name, fill] : {std::pair{"huge", Fill::kHuge},
                            {"tiny", Fill::kTiny},
                            {"subnormal", Fill::kSubnormal},
                            {"wide", Fill::kWide},
                            {"offset", Fill::kOffset},
                            {"special", Fill::kSpecial},
                            {"zeros", Fill::kZeros},
                            {"constant", Fill::kConstant}}) {
    cases.push_back({name, {{.dims = {9, 33}, .fill = fill}, Weight(33), Bias(33)}, {{"eps", 1e-5}}});
    cases.push_back(
        {StrCat(name, "_eps0"), {{.dims = {9, 32}, .fill = fill}, kAbsent, kAbsent}, {{"eps", 0.0}}});
  }
  // A one-pass variance, or one about a float mean, is far off here.
  std::vector<double> far(64);
  for (size_t i = 0; i < 64; ++i) far[i] = 1e7 + static_cast<double>(i % 3);
  cases.push_back({"far_offset",
                   {{.dims = {1, 64}, .fill = Fill::kValues, .values = far}, kAbsent, kAbsent},
                   {{"eps", 0.0}}});
  // The difference of two finite numbers is not a finite float.
  cases.push_back({"largest",
                   {{.dims = {1, 4},
                     .fill = Fill::kValues,
                     .values = {0x1.fffffep127, -0x1.fffffep127, 0x1.fffffep127, 1}},
                    kAbsent,
                    kAbsent},
                   {{"eps", 1e-5}}});
  cases.push_back(
      {"eps_counts", {{.dims = {4, 40}, .fill = Fill::kUniform}, kAbsent, kAbsent}, {{"eps", 0.25}}});
  cases.push_back({"weight_only", {{.dims = {5, 19}}, Weight(19), kAbsent}, {}});
  cases.push_back({"bias_only", {{.dims = {5, 19}}, kAbsent, Bias(19)}, {}});
  cases.push_back({"model_width", {{.dims = {40, 768}}, Weight(768), Bias(768)}, {}});
  cases.push_back({"no_rows", {{.dims = {0, 7}}, Weight(7), Bias(7)}, {}});
  cases.push_back({"rank1", {{.dims = {65}}, Weight(65), Bias(65)}, {}});
  cases.push_back({"rank4", {{.dims = {2, 3, 5, 17}}, Weight(17), Bias(17)}, {}});
  cases.push_back({"misaligned", {{.dims = {5, 31}, .place = Place::kMisaligned}, Weight(31), Bias(31)}, {}});
  cases.push_back({"strided", {{.dims = {5, 31}, .place = Place::kRowStrided}, Weight(31), Bias(31)}, {}});
  cases.push_back({"long", {{.dims = {2, 100003}}, kAbsent, kAbsent}, {}, Tier::kCi});
  cases.push_back({"many_rows", {{.dims = {20000, 9}}, Weight(9), Bias(9)}, {}, Tier::kCi});
  return cases;
}

std::vector<Refusal> Refusals() {
  const ValueType x{DType::kF32, {2, 4}};
  return {
      {"f16", {ValueType{DType::kF16, {4}}, std::nullopt, std::nullopt}, {}, "f32 is supported"},
      {"scalar", {ValueType{DType::kF32, {}}, std::nullopt, std::nullopt}, {}, "at least one dimension"},
      {"weight", {x, ValueType{DType::kF32, {5}}, std::nullopt}, {}, "weight is f32[5]; f32[4] is needed"},
      {"bias", {x, std::nullopt, ValueType{DType::kF32, {1, 4}}}, {}, "bias is f32[1, 4]; f32[4] is needed"},
      {"eps", {x, std::nullopt, std::nullopt}, {{"eps", -1.0}}, "at least 0"},
  };
}

// Statistics and the normalised value z are computed in double, whose errors, n 2^-53 max|x| against the
// deviation, are added for rows far from zero; then come the rounding of z to float, a product and a sum,
// of u each.
std::vector<double> Limit(const OpCall& call, const RefIo& io, size_t) {
  const RefTensor& x = io.in[0];
  const double eps = call.attributes.Real("eps", 1e-5);
  std::vector<double> limit(io.out[0].data.size());
  const int64_t n = x.dims.back();
  for (int64_t start = 0; n > 0 && start < x.size(); start += n) {
    double mean = 0, squares = 0, largest = 0;
    for (int64_t i = 0; i < n; ++i) mean += x.data[start + i] / static_cast<double>(n);
    for (int64_t i = 0; i < n; ++i) {
      squares += (x.data[start + i] - mean) * (x.data[start + i] - mean) / static_cast<double>(n);
      largest = std::max(largest, std::abs(x.data[start + i]));
    }
    const double doubles =
        (6 * std::sqrt(static_cast<double>(n)) + 4) * 0x1p-53 * largest / std::sqrt(squares + eps);
    for (int64_t i = 0; i < n; ++i) {
      const double weight = call.has(1) ? std::abs(io.in[1].data[i]) : 1;
      const double bias = call.has(2) ? std::abs(io.in[2].data[i]) : 0;
      const double y = std::abs(io.out[0].data[start + i]);
      // |z weight| <= |y| + |bias|
      limit[start + i] =
          kUnitRoundoff * (2.1 * (y + bias) + y) + doubles * (weight * 2) + (weight + 2) * 0x1p-149;
    }
  }
  return limit;
}

}  // namespace

const OpChecks& LayerNormChecks() {
  static const OpChecks checks{
      .spec = &LayerNormSpec(),
      .attacks =
          "Rows far from zero, where a one-pass or float variance cancels; rows whose differences overflow "
          "or "
          "whose squares vanish in float; constant rows; an epsilon that decides the result; weight or bias "
          "alone; NaN and infinity inside a row; strided and misaligned rows.",
      .reference = LayerNormReference,
      .cases = Cases,
      .refusals = Refusals,
      .tolerance = {.kind = ToleranceClass::kNorm,
                    .limit = Limit,
                    .derivation =
                        "u (2(|y| + |bias|) + |y|) + 2|weight| (6 sqrt n + 4) 2^-53 max|x| / deviation"},
  };
  return checks;
}

}  // namespace plinth::ops
