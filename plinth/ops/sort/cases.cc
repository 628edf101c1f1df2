#include <cmath>

#include "plinth/ops/sort/checks.h"
#include "plinth/ops/sort/op.h"

namespace plinth::ops {
namespace {

Attributes Descending(bool descending) { return {{"descending", descending}}; }

std::vector<Case> Cases() {
  std::vector<Case> cases;
  const double inf = INFINITY;
  for (bool down : {false, true}) {
    const std::string way = down ? "down_" : "up_";
    for (int64_t n : OddSizes()) {
      cases.push_back({StrCat(way, "n", n), {{.dims = {3, n}}}, Descending(down)});
      cases.push_back({StrCat(way, "ties_n", n), {{.dims = {3, n}, .fill = Fill::kTies}}, Descending(down)});
    }
    // 33 columns are sorted by insertion, 259 by distribution.
    for (int64_t n : {int64_t{33}, int64_t{259}}) {
      for (Fill fill : {Fill::kSpecial, Fill::kHuge, Fill::kTiny, Fill::kSubnormal, Fill::kWide,
                        Fill::kOffset, Fill::kZeros, Fill::kConstant, Fill::kAscending, Fill::kTies}) {
        cases.push_back({StrCat(way, "fill", static_cast<int>(fill), "_n", n),
                         {{.dims = {4, n}, .fill = fill}},
                         Descending(down)});
      }
    }
    cases.push_back({way + "corners",
                     {{.dims = {12},
                       .fill = Fill::kValues,
                       .values = {NAN, 0.0, inf, -0.0, -inf, NAN, 0x1p-149, -0x1p-149, -0.0, 0.0, 1, -1}}},
                     Descending(down)});
    cases.push_back({way + "all_nan",
                     {{.dims = {3}, .fill = Fill::kValues, .values = {NAN, NAN, NAN}}},
                     Descending(down)});
    cases.push_back({way + "rank4", {{.dims = {2, 3, 2, 70}, .fill = Fill::kTies}}, Descending(down)});
    cases.push_back({way + "strided", {{.dims = {5, 91}, .place = Place::kRowStrided}}, Descending(down)});
    cases.push_back({way + "misaligned", {{.dims = {5, 91}, .place = Place::kMisaligned}}, Descending(down)});
    cases.push_back({way + "long", {{.dims = {2, 70001}, .fill = Fill::kWide}}, Descending(down), Tier::kCi});
  }
  cases.push_back({"defaults", {{.dims = {9}}}, {}});
  cases.push_back({"no_rows", {{.dims = {0, 7}}}, {}});
  cases.push_back({"pieces", {{.dims = {4001, 9}, .fill = Fill::kTies}}, {}});
  return cases;
}

std::vector<Refusal> Refusals() {
  return {
      {"f64", {ValueType{DType::kF64, {4}}}, {}, "x is f64; f32 is supported"},
      {"scalar", {ValueType{DType::kF32, {}}}, {}, "at least one dimension"},
      {"too_long",
       {ValueType{DType::kF32, {int64_t{1} << 31}}},
       {},
       "2147483648; i32 indices reach 2^31 - 1"},
      {"axis", {ValueType{DType::kF32, {4}}}, {{"axis", int64_t{0}}}, "no attribute \"axis\""},
  };
}

}  // namespace

const OpChecks& SortChecks() {
  static const OpChecks checks{
      .spec = &SortSpec(),
      .attacks =
          "Many equal elements (a method that is not stable moves their indices), zeros of both signs as "
          "equals, NaN and infinities at the ends, sorted and constant rows, subnormal numbers, both "
          "directions, lengths on both sides of the change of method.",
      .reference = SortReference,
      .cases = Cases,
      .refusals = Refusals,
      .tolerance = {.kind = ToleranceClass::kOrder,
                    .limit = nullptr,
                    .derivation =
                        "values are moved, never computed; the stable order leaves one answer for indices",
                    .signed_zero = true},
  };
  return checks;
}

}  // namespace plinth::ops
