#include <cmath>

#include "plinth/ops/pad/checks.h"
#include "plinth/ops/pad/op.h"

namespace plinth::ops {
namespace {

using Ints = std::vector<int64_t>;

Attributes Of(Ints before, Ints after, double value = 0, const char* mode = "constant") {
  return {{"before", std::move(before)},
          {"after", std::move(after)},
          {"value", value},
          {"mode", std::string(mode)}};
}

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (int64_t n : OddSizes()) {
    cases.push_back({StrCat("n", n), {{.dims = {3, n}}}, Of({0, 2}, {0, 3}, 7.5)});
    if (n > 0) cases.push_back({StrCat("edge_n", n), {{.dims = {3, n}}}, Of({1, 17}, {2, 5}, 0, "edge")});
    cases.push_back({StrCat("reflect_n", n),
                     {{.dims = {3, n}, .fill = Fill::kAscending}},
                     Of({2, n > 1 ? n - 1 : 0}, {1, n / 2}, 0, "reflect")});
  }
  for (int t = 0; t < kDTypes; ++t) {
    const DType dtype = static_cast<DType>(t);
    const bool boolean = dtype == DType::kBool;
    const std::string name(DTypeName(dtype));
    // An odd value that needs more than the low byte where there is one, and a rounding one for floats.
    const double value = boolean || SizeOf(dtype) == 1 ? 1 : IsFloat(dtype) ? 1000.3 : -12345;
    const Fill fill = boolean ? Fill::kMask : Fill::kTies;
    cases.push_back({name, {{.dtype = dtype, .dims = {5, 19}, .fill = fill}}, Of({1, 3}, {2, 1}, value)});
    cases.push_back({name + "_transposed",
                     {{.dtype = dtype, .dims = {5, 19}, .fill = fill, .place = Place::kTransposed}},
                     Of({2, 0}, {0, 4}, 0, "reflect")});
  }
  for (const char* mode : {"constant", "edge", "reflect"}) {
    for (auto place : {Place::kDense, Place::kMisaligned, Place::kRowStrided, Place::kTransposed}) {
      const InputCase x{.dims = {4, 3, 6}, .fill = Fill::kAscending, .place = place};
      const std::string name = StrCat(mode, "_place", static_cast<int>(place));
      cases.push_back({name + "_first", {x}, Of({1, 0, 0}, {3, 0, 0}, -1, mode)});
      cases.push_back({name + "_middle", {x}, Of({0, 2, 0}, {0, 1, 0}, -1, mode)});
      cases.push_back({name + "_last", {x}, Of({0, 0, 5}, {0, 0, 4}, -1, mode)});
      cases.push_back({name + "_all", {x}, Of({3, 1, 2}, {1, 2, 5}, -1, mode)});
      cases.push_back({name + "_none", {x}, Of({0, 0, 0}, {0, 0, 0}, -1, mode)});
    }
    cases.push_back({StrCat(mode, "_rank6"),
                     {{.dims = {2, 2, 3, 2, 2, 3}}},
                     Of({1, 0, 2, 0, 1, 1}, {0, 1, 0, 1, 1, 2}, 9, mode)});
    cases.push_back(
        {StrCat(mode, "_special"), {{.dims = {7, 9}, .fill = Fill::kSpecial}}, Of({1, 2}, {1, 2}, 9, mode)});
  }
  cases.push_back({"minus_zero", {{.dims = {2, 3}, .fill = Fill::kZeros}}, Of({1, 1}, {1, 1}, -0.0)});
  cases.push_back({"nan", {{.dims = {2, 3}}}, Of({1, 1}, {1, 1}, NAN)});
  cases.push_back({"infinity", {{.dims = {2, 3}}}, Of({1, 1}, {1, 1}, -INFINITY)});
  cases.push_back({"overflow_to_infinity", {{.dims = {2, 3}}}, Of({1, 1}, {1, 1}, 1e300)});
  cases.push_back({"from_nothing", {{.dims = {0, 3}}}, Of({2, 1}, {1, 0}, 4)});
  cases.push_back({"rank1", {{.dims = {65}}}, Of({3}, {2}, 4)});
  cases.push_back(
      {"i64_most", {{.dtype = DType::kI64, .dims = {3}, .fill = Fill::kTies}}, Of({1}, {1}, -0x1p63)});
  cases.push_back({"u8_most", {{.dtype = DType::kU8, .dims = {3}, .fill = Fill::kMask}}, Of({1}, {1}, 255)});
  cases.push_back({"defaults", {{.dims = {3}}}, {{"before", Ints{1}}, {"after", Ints{2}}}});
  cases.push_back({"pieces", {{.dims = {700, 60}}}, Of({3, 1}, {2, 5}, 4)});
  cases.push_back({"pieces_reflect",
                   {{.dims = {300, 2, 60}, .place = Place::kTransposed}},
                   Of({299, 1, 3}, {0, 1, 9}, 0, "reflect")});
  return cases;
}

std::vector<Refusal> Refusals() {
  const ValueType x{DType::kF32, {4, 9}};
  const ValueType i8{DType::kI8, {4}};
  const ValueType tokens{DType::kF32, {Dim::Named("tokens", 1, 1)}};
  const ValueType any{DType::kF32, {Dim::Named("tokens")}};
  return {
      {"scalar", {ValueType{DType::kF32, {}}}, Of({}, {}), "at least one dimension"},
      {"none", {x}, {}, "before has 0 and after 0 entries; x [4, 9] needs 2 each"},
      {"few_after", {x}, Of({1, 1}, {1}), "before has 2 and after 1"},
      {"negative", {x}, Of({0, -1}, {0, 2}), "of dimension 1 are -1 and 2; they are at least 0"},
      {"mode",
       {x},
       Of({1, 1}, {1, 1}, 0, "wrap"),
       "mode \"wrap\" is unknown; there are constant, edge, reflect"},
      {"fraction", {i8}, Of({1}, {1}, 0.5), "value 0.5 is not an integer that i8 holds"},
      {"too_large", {i8}, Of({1}, {1}, 128), "value 128 is not an integer that i8 holds"},
      {"too_small", {ValueType{DType::kU8, {4}}}, Of({1}, {1}, -1), "value -1 is not an integer that u8"},
      {"i64_overflow", {ValueType{DType::kI64, {4}}}, Of({1}, {1}, 0x1p63), "is not an integer that i64"},
      {"nan_integer", {i8}, Of({1}, {1}, NAN), "is not an integer that i8 holds"},
      {"bool", {ValueType{DType::kBool, {4}}}, Of({1}, {1}, 2), "value 2 is neither 0 nor 1"},
      {"edge_of_nothing", {ValueType{DType::kF32, {0}}}, Of({1}, {0}, 0, "edge"), "edge needs an element"},
      {"edge_named", {any}, Of({1}, {0}, 0, "edge"), "dimension 0 is tokens"},
      {"reflect_far",
       {x},
       Of({4, 0}, {0, 0}, 0, "reflect"),
       "reflect by 4 needs at least 4 + 1 elements; dimension 0 is 4"},
      {"reflect_after", {x}, Of({0, 0}, {0, 9}, 0, "reflect"), "reflect by 9"},
      {"reflect_named", {tokens}, Of({1}, {0}, 0, "reflect"), "dimension 0 is tokens+1"},
      {"too_long", {x}, Of({INT64_MAX, 0}, {0, 0}), "63 bits"},
  };
}

}  // namespace

const OpChecks& PadChecks() {
  static const OpChecks checks{
      .spec = &PadSpec(),
      .attacks =
          "Unequal amounts before and after each axis and on all at once in the three modes, the most that "
          "reflect allows, single elements and none, values that every element type rounds or barely holds, "
          "minus zero and NaN as padding, strided and transposed inputs.",
      .reference = PadReference,
      .cases = Cases,
      .refusals = Refusals,
      .tolerance = {.kind = ToleranceClass::kExact,
                    .limit = nullptr,
                    .derivation =
                        "elements are copied, never computed; the value is rounded to the type once",
                    .signed_zero = true},
  };
  return checks;
}

}  // namespace plinth::ops
