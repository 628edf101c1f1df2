#include <cmath>

#include "plinth/ops/rms_norm/checks.h"
#include "plinth/ops/rms_norm/op.h"

namespace plinth::ops {
namespace {

const InputCase kNoWeight{.absent = true};

InputCase Weight(int64_t n) { return {.dims = {n}, .fill = Fill::kWide, .constant = true}; }

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (int64_t n : OddSizes()) {
    cases.push_back({StrCat("n", n), {{.dims = {3, n}}, Weight(n)}, {{"eps", 1e-6}}});
  }
  for (auto [name, fill] : {std::pair{"huge", Fill::kHuge},
                            {"tiny", Fill::kTiny},
                            {"subnormal", Fill::kSubnormal},
                            {"wide", Fill::kWide},
                            {"offset", Fill::kOffset},
                            {"special", Fill::kSpecial},
                            {"zeros", Fill::kZeros}}) {
    cases.push_back({name, {{.dims = {9, 33}, .fill = fill}, Weight(33)}, {{"eps", 1e-6}}});
    cases.push_back({StrCat(name, "_eps0"), {{.dims = {9, 33}, .fill = fill}, kNoWeight}, {{"eps", 0.0}}});
  }
  // One outlier among 511 ones: a float sum of squares would lose the ones.
  std::vector<double> outlier(512, 1.0);
  outlier[300] = 8192;
  cases.push_back(
      {"outlier", {{.dims = {1, 512}, .fill = Fill::kValues, .values = outlier}, kNoWeight}, {{"eps", 0.0}}});
  // eps decides here: ignored, or added after the root, the result is off by far more than the limit.
  cases.push_back({"eps_counts", {{.dims = {4, 40}, .fill = Fill::kUniform}, kNoWeight}, {{"eps", 0.25}}});
  cases.push_back({"default_eps", {{.dims = {2, 24}, .fill = Fill::kTiny}, Weight(24)}, {}});
  cases.push_back(
      {"largest",
       {{.dims = {1, 3}, .fill = Fill::kValues, .values = {0x1.fffffep127, -0x1.fffffep127, 1}}, kNoWeight},
       {{"eps", 1e-5}}});
  cases.push_back(
      {"infinite",
       {{.dims = {2, 3}, .fill = Fill::kValues, .values = {INFINITY, 0, 1, NAN, 1, 2}}, kNoWeight},
       {{"eps", 1e-5}}});
  cases.push_back({"model_width", {{.dims = {304, 128}}, Weight(128)}, {{"eps", 1e-6}}});
  cases.push_back({"no_rows", {{.dims = {0, 7}}, Weight(7)}, {}});
  cases.push_back({"rank1", {{.dims = {65}}, Weight(65)}, {}});
  cases.push_back({"rank4", {{.dims = {2, 3, 5, 17}}, Weight(17)}, {}});
  cases.push_back({"misaligned", {{.dims = {5, 31}, .place = Place::kMisaligned}, Weight(31)}, {}});
  cases.push_back({"strided", {{.dims = {5, 31}, .place = Place::kRowStrided}, Weight(31)}, {}});
  cases.push_back({"long", {{.dims = {2, 100003}}, kNoWeight}, {}, Tier::kCi});
  cases.push_back({"many_rows", {{.dims = {20000, 9}}, Weight(9)}, {}, Tier::kCi});
  return cases;
}

std::vector<Refusal> Refusals() {
  const ValueType x{DType::kF32, {2, 4}};
  return {
      {"f16", {ValueType{DType::kF16, {4}}, std::nullopt}, {}, "f32 is supported"},
      {"scalar", {ValueType{DType::kF32, {}}, std::nullopt}, {}, "at least one dimension"},
      {"weight_size", {x, ValueType{DType::kF32, {5}}}, {}, "weight is f32[5]; f32[4] is needed"},
      {"weight_rank", {x, ValueType{DType::kF32, {1, 4}}}, {}, "f32[4] is needed"},
      {"weight_type", {x, ValueType{DType::kF16, {4}}}, {}, "f32[4] is needed"},
      {"negative_eps", {x, std::nullopt}, {{"eps", -1e-6}}, "at least 0"},
      {"eps_nan", {x, std::nullopt}, {{"eps", std::nan("")}}, "finite number"},
  };
}

// The scale comes out of double arithmetic, so it is off by its rounding to float (u) alone; two
// products add u each. Below the normal range a result moves by a subnormal step for each rounding.
std::vector<double> Limit(const OpCall&, const RefIo& io, size_t) {
  std::vector<double> limit(io.out[0].data.size());
  for (size_t i = 0; i < limit.size(); ++i) {
    const double w = io.in.size() > 1 && !io.in[1].data.empty() ? io.in[1].data[i % io.in[1].data.size()] : 1;
    // x * scale may be subnormal before the weight enlarges it.
    limit[i] = std::abs(io.out[0].data[i]) * 3.1 * kUnitRoundoff + (std::abs(w) + 1) * 0x1p-149;
  }
  return limit;
}

}  // namespace

const OpChecks& RmsNormChecks() {
  static const OpChecks checks{
      .spec = &RmsNormSpec(),
      .attacks =
          "Rows whose squares overflow or vanish in float (huge, tiny, subnormal), an outlier that swallows "
          "its neighbours in a float sum, an epsilon that decides the result, rows of zeros, NaN and "
          "infinity inside a row, lengths around the vector widths, strided and misaligned rows.",
      .reference = RmsNormReference,
      .cases = Cases,
      .refusals = Refusals,
      .tolerance = {.kind = ToleranceClass::kNorm,
                    .limit = Limit,
                    .derivation = "3u|y| (scale to float, two products) + (|weight| + 1) subnormal steps"},
  };
  return checks;
}

}  // namespace plinth::ops
