#include <cmath>

#include "plinth/ops/reduce/checks.h"
#include "plinth/ops/reduce/op.h"

namespace plinth::ops {
namespace {

using Ints = std::vector<int64_t>;

constexpr const char* kAll[] = {"sum", "mean", "max", "min", "prod"};

Attributes Of(const char* function, Ints axes, bool keep = false) {
  return {{"function", std::string(function)}, {"axes", std::move(axes)}, {"keep", keep}};
}

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (const char* f : kAll) {
    for (int64_t n : OddSizes()) {
      cases.push_back({StrCat(f, "_last_n", n), {{.dims = {3, n}}}, Of(f, {-1})});
      cases.push_back({StrCat(f, "_first_n", n), {{.dims = {n, 3}}}, Of(f, {0})});
    }
    for (Fill fill : {Fill::kSpecial, Fill::kHuge, Fill::kTiny, Fill::kSubnormal, Fill::kWide, Fill::kOffset,
                      Fill::kZeros, Fill::kTies}) {
      const std::string name = StrCat(f, "_fill", static_cast<int>(fill));
      cases.push_back({name + "_last", {{.dims = {9, 35}, .fill = fill}}, Of(f, {1})});
      cases.push_back({name + "_first", {{.dims = {35, 9}, .fill = fill}}, Of(f, {0})});
    }
    const double inf = INFINITY;
    cases.push_back({StrCat(f, "_opposite_infinities"),
                     {{.dims = {3}, .fill = Fill::kValues, .values = {inf, 1, -inf}}},
                     Of(f, {0})});
    cases.push_back({StrCat(f, "_all_minus_infinity"),
                     {{.dims = {2}, .fill = Fill::kValues, .values = {-inf, -inf}}},
                     Of(f, {0})});
    cases.push_back({StrCat(f, "_nan_last"),
                     {{.dims = {33, 2},
                       .fill = Fill::kValues,
                       .values =
                           [] {
                             std::vector<double> v(66, 2.0);
                             v[64] = NAN;  // the last element of column 0 only
                             return v;
                           }()}},
                     Of(f, {0})});
    cases.push_back({StrCat(f, "_nothing"), {{.dims = {3, 0}}}, Of(f, {1})});
    cases.push_back({StrCat(f, "_scalar"), {{.dims = {}}}, Of(f, {})});
  }
  // Every set of axes of a shape without equal sizes, kept or not, over every placement.
  for (auto place : {Place::kDense, Place::kMisaligned, Place::kRowStrided, Place::kTransposed}) {
    for (int set = 0; set < 16; ++set) {
      Ints axes;
      for (int64_t d = 0; d < 4; ++d) {
        if ((set >> d & 1) != 0) axes.push_back(d % 2 == 0 ? d : d - 4);
      }
      const InputCase x{.dims = {3, 5, 2, 19}, .fill = Fill::kOffset, .place = place};
      const std::string name = StrCat("place", static_cast<int>(place), "_axes", Join(axes, ""));
      cases.push_back({name, {x}, Of("sum", axes)});
      cases.push_back({name + "_keep", {x}, Of("max", axes, true)});
    }
  }
  // What a float total would lose.
  cases.push_back({"absorbed",
                   {{.dims = {4}, .fill = Fill::kValues, .values = {16777216, 1, 1, -16777216}}},
                   Of("sum", {0})});
  const double most = 0x1.fffffep127;
  cases.push_back({"overflows_and_returns",
                   {{.dims = {3}, .fill = Fill::kValues, .values = {most, most, -most}}},
                   Of("sum", {0})});
  cases.push_back(
      {"mean_of_large", {{.dims = {2}, .fill = Fill::kValues, .values = {most, most}}}, Of("mean", {0})});
  cases.push_back(
      {"overflow", {{.dims = {2}, .fill = Fill::kValues, .values = {most, most}}}, Of("sum", {0})});
  cases.push_back({"rank6", {{.dims = {2, 3, 2, 3, 2, 5}}}, Of("sum", {4, 1, 5})});
  cases.push_back({"no_outputs", {{.dims = {0, 7}}}, Of("sum", {1})});
  cases.push_back({"no_columns", {{.dims = {7, 0}}}, Of("sum", {0})});
  cases.push_back({"columns_129", {{.dims = {5, 129}}}, Of("sum", {0})});
  cases.push_back({"columns_strided", {{.dims = {5, 300}, .place = Place::kRowStrided}}, Of("mean", {0})});
  cases.push_back({"pieces", {{.dims = {3001, 17}}}, Of("sum", {1})});
  cases.push_back({"pieces_columns", {{.dims = {7, 201, 700}}}, Of("mean", {1})});
  cases.push_back({"long", {{.dims = {300007}, .fill = Fill::kOffset}}, Of("sum", {0}), Tier::kCi});
  cases.push_back({"tall", {{.dims = {100003, 3}, .fill = Fill::kOffset}}, Of("sum", {0}), Tier::kCi});
  return cases;
}

std::vector<Refusal> Refusals() {
  const ValueType x{DType::kF32, {4, 9}};
  return {
      {"f64", {ValueType{DType::kF64, {4}}}, Of("sum", {0}), "x is f64; f32 is supported"},
      {"no_function", {x}, {}, "function \"\" is unknown; there are sum, mean, max, min, prod"},
      {"unknown", {x}, Of("median", {0}), "function \"median\" is unknown"},
      {"axis", {x}, Of("sum", {2}), "axis 2 is outside [-2, 2)"},
      {"twice", {x}, Of("sum", {1, -1}), "axis 1 is in axes twice"},
      {"scalar_axis", {ValueType{DType::kF32, {}}}, Of("sum", {0}), "axis 0 is outside"},
  };
}

// Half a ULP from the rounding to float. Before it, each of the n sums in double is off by at most 2^-53
// of the sum of the magnitudes, each of the n products by 2^-53 of the result.
std::vector<double> Limit(const OpCall& call, const RefIo& io, size_t) {
  const std::string f = call.attributes.Text("function");
  const RefTensor &x = io.in[0], &y = io.out[0];
  if (f == "max" || f == "min") return UlpLimit(y, 0);
  std::vector<double> limit = UlpLimit(y, 0.5);
  const double n = y.size() == 0 ? 0 : static_cast<double>(x.size()) / static_cast<double>(y.size());
  if (f == "prod") {
    for (int64_t i = 0; i < y.size(); ++i) limit[i] += n * 0x1p-53 * std::abs(y.data[i]);
    return limit;
  }
  const double each = f == "mean" ? (n + 1) / n * 0x1p-53 : n * 0x1p-53;
  for (int64_t i = 0; i < x.size(); ++i) {
    if (std::isfinite(x.data[i])) limit[ReducedPosition(call, x, i)] += each * std::abs(x.data[i]);
  }
  return limit;
}

}  // namespace

const OpChecks& ReduceChecks() {
  static const OpChecks checks{
      .spec = &ReduceSpec(),
      .attacks =
          "Every set of axes of four unequal dimensions over every placement, counts around the lanes, "
          "columns around the block width, sums that a float would lose or that overflow on the way, maxima "
          "of zeros of both signs, NaN as the first or last element, infinities that cancel, and reductions "
          "of nothing.",
      .reference = ReduceReference,
      .cases = Cases,
      .refusals = Refusals,
      .tolerance =
          {.kind = ToleranceClass::kReduction,
           .limit = Limit,
           .derivation =
               "max, min exact; sum half a ULP + n * 2^-53 * sum|x|; mean the same over n; prod half "
               "a ULP + n * 2^-53 * |y|",
           .signed_zero = true},
  };
  return checks;
}

}  // namespace plinth::ops
