#include <algorithm>
#include <cmath>

#include "plinth/ops/softmax/checks.h"
#include "plinth/ops/softmax/op.h"

namespace plinth::ops {
namespace {

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (int64_t n : OddSizes()) {
    cases.push_back({StrCat("n", n), {{.dims = {3, n}}}, {}});
  }
  for (auto [name, fill] : {std::pair{"huge", Fill::kHuge},
                            {"tiny", Fill::kTiny},
                            {"wide", Fill::kWide},
                            {"offset", Fill::kOffset},
                            {"special", Fill::kSpecial},
                            {"constant", Fill::kConstant},
                            {"zeros", Fill::kZeros}}) {
    cases.push_back({name, {{.dims = {9, 33}, .fill = fill}}, {}});
  }
  const double inf = INFINITY;
  cases.push_back(
      {"all_minus_inf", {{.dims = {2, 2}, .fill = Fill::kValues, .values = {-inf, -inf, 0, -inf}}}, {}});
  cases.push_back({"plus_inf", {{.dims = {1, 3}, .fill = Fill::kValues, .values = {inf, 0, 1}}}, {}});
  cases.push_back({"underflow_edge",
                   {{.dims = {1, 4}, .fill = Fill::kValues, .values = {0, -87.5, -103.9, -104.1}}},
                   {}});
  cases.push_back({"no_rows", {{.dims = {0, 7}}}, {}});
  cases.push_back({"rank1", {{.dims = {65}}}, {}});
  cases.push_back({"rank4", {{.dims = {2, 3, 5, 17}}}, {}});
  cases.push_back({"misaligned", {{.dims = {5, 31}, .place = Place::kMisaligned}}, {}});
  cases.push_back({"strided", {{.dims = {5, 31}, .place = Place::kRowStrided}}, {}});
  cases.push_back({"long", {{.dims = {2, 100003}}}, {}, Tier::kCi});
  cases.push_back({"many_rows", {{.dims = {20000, 9}}}, {}, Tier::kCi});
  return cases;
}

std::vector<Refusal> Refusals() {
  return {
      {"f64", {ValueType{DType::kF64, {4}}}, {}, "f32 is supported"},
      {"scalar", {ValueType{DType::kF32, {}}}, {}, "at least one dimension"},
      {"missing", {std::nullopt}, {}, "\"x\" is missing"},
      {"unknown_attribute", {ValueType{DType::kF32, {4}}}, {{"axis", int64_t{0}}}, "no attribute \"axis\""},
  };
}

// The numerator exp(x - max): the rounded difference is off by u|x - max|, which the exponential turns
// into a relative error, plus 2u of the exponential itself. The sum of n positive terms in any order is
// off by at most (n - 1)u relative, in vectorised order by (n/16 + 4)u; the reciprocal and the product
// add 2u. Results below the smallest normal number are off by up to three subnormal steps.
std::vector<double> Limit(const OpCall&, const RefIo& io, size_t) {
  const RefTensor& x = io.in[0];
  const RefTensor& y = io.out[0];
  std::vector<double> limit(y.data.size());
  const int64_t n = x.dims.back();
  for (int64_t start = 0; n > 0 && start < x.size(); start += n) {
    double top = -INFINITY, spread = 0;
    for (int64_t i = 0; i < n; ++i) top = std::max(top, x.data[start + i]);
    // exp(-inf) = 0 is exact.
    const auto distance = [&](int64_t i) {
      const double d = std::abs(x.data[start + i] - top);
      return std::isfinite(d) ? d : 0;
    };
    // The sum is dominated by terms near the maximum; far ones weigh by their own size.
    for (int64_t i = 0; i < n; ++i) spread += y.data[start + i] * distance(i);
    for (int64_t i = 0; i < n; ++i) {
      const double away = distance(i);
      const double relative = kUnitRoundoff * (away + spread + static_cast<double>(n) / 4 + 8);
      limit[start + i] = y.data[start + i] * relative + 3 * 0x1p-149;
    }
  }
  return limit;
}

}  // namespace

const OpChecks& SoftmaxChecks() {
  static const OpChecks checks{
      .spec = &SoftmaxSpec(),
      .attacks =
          "Rows whose maximum must be subtracted first (huge, offset), rows that underflow at the edge of "
          "the exponential's range, rows of nothing but minus infinity, NaN and +infinity inside a row, "
          "lengths around the vector widths, and strided or misaligned rows.",
      .reference = SoftmaxReference,
      .cases = Cases,
      .refusals = Refusals,
      .tolerance = {.kind = ToleranceClass::kSoftmax,
                    .limit = Limit,
                    .derivation = "y * u * (|x - max| + sum y|x - max| + n/4 + 8) + 3 subnormal steps"},
  };
  return checks;
}

}  // namespace plinth::ops
