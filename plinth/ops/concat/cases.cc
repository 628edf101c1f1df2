#include "plinth/ops/concat/checks.h"
#include "plinth/ops/concat/op.h"

namespace plinth::ops {
namespace {

Attributes Axis(int64_t axis) { return {{"axis", axis}}; }

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (int64_t n : OddSizes()) {
    cases.push_back({StrCat("last_n", n), {{.dims = {3, n}}, {.dims = {3, 5}}}, Axis(1)});
    cases.push_back({StrCat("first_n", n), {{.dims = {2, n}}, {.dims = {3, n}}}, Axis(0)});
    cases.push_back(
        {StrCat("middle_n", n), {{.dims = {3, 2, 3}}, {.dims = {3, n, 3}}, {.dims = {3, 1, 3}}}, Axis(1)});
  }
  for (int t = 0; t < kDTypes; ++t) {
    const DType dtype = static_cast<DType>(t);
    const Fill fill = dtype == DType::kBool ? Fill::kMask : Fill::kTies;
    const std::string name(DTypeName(dtype));
    cases.push_back({StrCat(name, "_last"),
                     {{.dtype = dtype, .dims = {7, 21}, .fill = fill},
                      {.dtype = dtype, .dims = {7, 1}, .fill = fill},
                      {.dtype = dtype, .dims = {7, 40}, .fill = fill, .place = Place::kTransposed}},
                     Axis(-1)});
    cases.push_back({StrCat(name, "_first"),
                     {{.dtype = dtype, .dims = {17, 21}, .fill = fill, .place = Place::kTransposed},
                      {.dtype = dtype, .dims = {3, 21}, .fill = fill, .place = Place::kRowStrided}},
                     Axis(0)});
  }
  for (auto place : {Place::kMisaligned, Place::kRowStrided, Place::kTransposed}) {
    for (int64_t axis = 0; axis < 3; ++axis) {
      cases.push_back({StrCat("place", static_cast<int>(place), "_axis", axis),
                       {{.dims = {4, 3, 18}, .fill = Fill::kAscending, .place = place},
                        {.dims = {4, 3, 18}, .place = place}},
                       Axis(axis)});
    }
  }
  cases.push_back({"one_input", {{.dims = {4, 5}}}, Axis(0)});
  cases.push_back({"single_columns", {{.dims = {40, 1}}, {.dims = {40, 1}}, {.dims = {40, 1}}}, Axis(1)});
  cases.push_back({"many", std::vector<InputCase>(40, {.dims = {3, 2}, .fill = Fill::kAscending}), Axis(0)});
  cases.push_back({"empty_between", {{.dims = {2, 3}}, {.dims = {0, 3}}, {.dims = {1, 3}}}, Axis(0)});
  cases.push_back({"all_empty", {{.dims = {0, 3}}, {.dims = {0, 3}}}, Axis(0)});
  cases.push_back({"no_rows", {{.dims = {0, 3}}, {.dims = {0, 4}}}, Axis(1)});
  cases.push_back({"rank1", {{.dims = {65}}, {.dims = {1}}, {.dims = {31}}}, Axis(0)});
  cases.push_back({"rank6", {{.dims = {2, 3, 2, 2, 3, 2}}, {.dims = {2, 3, 2, 5, 3, 2}}}, Axis(3)});
  cases.push_back({"special",
                   {{.dims = {9, 9}, .fill = Fill::kSpecial}, {.dims = {9, 9}, .fill = Fill::kZeros}},
                   Axis(1)});
  cases.push_back({"defaults", {{.dims = {2, 3}}, {.dims = {1, 3}}}, {}});
  // Several pieces per input, the second and third beginning inside rows.
  cases.push_back({"pieces", {{.dims = {9, 3001}}, {.dims = {9, 7}}, {.dims = {9, 4003}}}, Axis(1)});
  cases.push_back({"pieces_first", {{.dims = {20011}}, {.dims = {17000}}}, Axis(0)});
  return cases;
}

std::vector<Refusal> Refusals() {
  const ValueType x{DType::kF32, {4, 9}};
  const ValueType tokens{DType::kF32, {Dim::Named("tokens"), 9}};
  const ValueType batch{DType::kF32, {Dim::Named("batch"), 9}};
  const int64_t most = INT64_MAX;
  return {
      {"nothing", {}, Axis(0), "\"x\" is missing"},
      {"absent", {x, std::nullopt}, Axis(0), "input 1 is missing"},
      {"scalars",
       {ValueType{DType::kF32, {}}, ValueType{DType::kF32, {}}},
       Axis(0),
       "at least one dimension"},
      {"axis", {x, x}, Axis(2), "axis 2 is outside [-2, 2)"},
      {"dtype", {x, ValueType{DType::kF64, {4, 9}}}, Axis(0), "input 1 is f64[4, 9]; beside f32[4, 9]"},
      {"rank", {x, ValueType{DType::kF32, {4}}}, Axis(0), "input 1 is f32[4]"},
      {"shape", {x, x, ValueType{DType::kF32, {4, 8}}}, Axis(0), "input 2 is f32[4, 8]"},
      {"named_other_axis", {x, tokens}, Axis(1), "may differ along axis 1 only"},
      {"two_names", {tokens, batch}, Axis(0), "tokens and batch along the axis"},
      {"too_long", {ValueType{DType::kF32, {most}}, ValueType{DType::kF32, {most}}}, Axis(0), "63 bits"},
  };
}

}  // namespace

const OpChecks& ConcatChecks() {
  static const OpChecks checks{
      .spec = &ConcatSpec(),
      .attacks =
          "Inputs of unequal and of no length along every axis, one input and forty, single columns (whose "
          "target steps over whole rows), every element size, strided and transposed inputs, and pieces that "
          "begin inside a row or cover the end of one input and the start of the next.",
      .reference = ConcatReference,
      .cases = Cases,
      .refusals = Refusals,
      .tolerance = {.kind = ToleranceClass::kExact,
                    .limit = nullptr,
                    .derivation = "elements are copied, never computed",
                    .signed_zero = true},
  };
  return checks;
}

}  // namespace plinth::ops
