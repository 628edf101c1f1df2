#include <algorithm>
#include <cmath>

#include "plinth/ops/top_k/checks.h"
#include "plinth/ops/top_k/op.h"

namespace plinth::ops {
namespace {

Attributes Of(int64_t k, bool largest = true) { return {{"k", k}, {"largest", largest}}; }

std::vector<Case> Cases() {
  std::vector<Case> cases;
  const double inf = INFINITY;
  for (bool largest : {true, false}) {
    const std::string way = largest ? "largest_" : "smallest_";
    for (int64_t n : OddSizes()) {
      if (n == 0) continue;
      for (int64_t k : {int64_t{1}, n / 2, n}) {
        if (k < 1) continue;
        const std::string name = StrCat(way, "n", n, "_k", k);
        if (!cases.empty() && cases.back().name == StrCat(name, "_ties")) continue;  // n / 2 is 1, or n is
        cases.push_back({name, {{.dims = {3, n}}}, Of(k, largest)});
        cases.push_back({StrCat(name, "_ties"), {{.dims = {3, n}, .fill = Fill::kTies}}, Of(k, largest)});
      }
    }
    for (Fill fill : {Fill::kSpecial, Fill::kHuge, Fill::kTiny, Fill::kSubnormal, Fill::kWide, Fill::kOffset,
                      Fill::kZeros, Fill::kConstant, Fill::kAscending, Fill::kTies}) {
      cases.push_back(
          {StrCat(way, "fill", static_cast<int>(fill)), {{.dims = {4, 131}, .fill = fill}}, Of(17, largest)});
    }
    cases.push_back({way + "corners",
                     {{.dims = {12},
                       .fill = Fill::kValues,
                       .values = {NAN, 0.0, inf, -0.0, -inf, NAN, 0x1p-149, -0x1p-149, -0.0, 0.0, 1, -1}}},
                     Of(12, largest)});
    cases.push_back(
        {way + "all_nan", {{.dims = {3}, .fill = Fill::kValues, .values = {NAN, NAN, NAN}}}, Of(2, largest)});
    cases.push_back({way + "last_is_best",
                     {{.dims = {5}, .fill = Fill::kValues, .values = {0, 0, 0, 0, largest ? 1.0 : -1.0}}},
                     Of(2, largest)});
    cases.push_back({way + "rank4", {{.dims = {2, 3, 2, 40}, .fill = Fill::kTies}}, Of(9, largest)});
    cases.push_back({way + "strided", {{.dims = {5, 91}, .place = Place::kRowStrided}}, Of(7, largest)});
    cases.push_back({way + "misaligned", {{.dims = {5, 91}, .place = Place::kMisaligned}}, Of(7, largest)});
    cases.push_back({way + "long", {{.dims = {2, 9001}, .fill = Fill::kWide}}, Of(100, largest), Tier::kCi});
  }
  cases.push_back({"defaults", {{.dims = {9}}}, {{"k", int64_t{3}}}});
  cases.push_back({"no_rows", {{.dims = {0, 7}}}, Of(3)});
  cases.push_back({"pieces", {{.dims = {4001, 9}, .fill = Fill::kTies}}, Of(4)});
  return cases;
}

std::vector<Refusal> Refusals() {
  const ValueType x{DType::kF32, {4, 9}};
  const ValueType named{DType::kF32, {4, Dim::Named("tokens", 1, 2)}};
  return {
      {"f64", {ValueType{DType::kF64, {4}}}, Of(1), "x is f64; f32 is supported"},
      {"scalar", {ValueType{DType::kF32, {}}}, Of(1), "at least one dimension"},
      {"no_k", {x}, {}, "k is 0; it is at least 1"},
      {"negative", {x}, Of(-3), "k is -3; it is at least 1"},
      {"too_many", {x}, Of(10), "k is 10, but the last dimension is 9; k is at most that"},
      {"named", {named}, Of(3), "the last dimension is tokens+2, which may be 2"},
      {"too_long",
       {ValueType{DType::kF32, {int64_t{1} << 31}}},
       Of(1),
       "2147483648; i32 indices reach 2^31 - 1"},
  };
}

}  // namespace

const OpChecks& TopKChecks() {
  static const OpChecks checks{
      .spec = &TopKSpec(),
      .attacks =
          "Many equal elements, of which the first must be taken and in order, zeros of both signs as "
          "equals, "
          "NaN and infinities, ascending rows that replace the selection at every step, k of one and of all, "
          "the best element last.",
      .reference = TopKReference,
      .cases = Cases,
      .refusals = Refusals,
      .tolerance = {.kind = ToleranceClass::kOrder,
                    .limit = nullptr,
                    .derivation = "values are moved, never computed; lower indices first leaves one answer",
                    .signed_zero = true},
  };
  return checks;
}

}  // namespace plinth::ops
