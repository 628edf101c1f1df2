#include "plinth/ops/slice/checks.h"
#include "plinth/ops/slice/op.h"

namespace plinth::ops {
namespace {

Attributes Of(int64_t axis, int64_t begin, int64_t end, int64_t step = 1) {
  return {{"axis", axis}, {"begin", begin}, {"end", end}, {"step", step}};
}

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (int64_t n : OddSizes()) {
    cases.push_back({StrCat("n", n), {{.dims = {3, n}}}, Of(1, 1, n)});
    cases.push_back({StrCat("step3_n", n), {{.dims = {3, n}}}, Of(-1, 0, n, 3)});
  }
  for (int t = 0; t < kDTypes; ++t) {
    const DType dtype = static_cast<DType>(t);
    const Fill fill = dtype == DType::kBool ? Fill::kMask : Fill::kTies;
    const std::string name(DTypeName(dtype));
    // 37 columns leave a tail beside the 16-wide paths; the row path and the strided path, both odd.
    cases.push_back({name, {{.dtype = dtype, .dims = {5, 37, 3}, .fill = fill}}, Of(1, 2, -1)});
    cases.push_back(
        {StrCat(name, "_step2"), {{.dtype = dtype, .dims = {7, 37}, .fill = fill}}, Of(1, 1, 36, 2)});
    cases.push_back({StrCat(name, "_transposed"),
                     {{.dtype = dtype, .dims = {69, 83}, .fill = fill, .place = Place::kTransposed}},
                     Of(0, 1, 68)});
  }
  const InputCase x{.dims = {4, 9, 6}, .fill = Fill::kAscending};
  for (auto [name, attributes] :
       {std::pair<const char*, Attributes>{"axis0", Of(0, 1, 3)},
        {"axis1", Of(1, 2, 7)},
        {"axis2", Of(2, 1, 5)},
        {"negative_axis", Of(-3, 1, 4)},
        {"negative_begin", Of(1, -3, 9)},
        {"negative_end", Of(1, 0, -2)},
        {"both_negative", Of(2, -4, -1)},
        {"beyond", Of(1, 3, 1000)},
        {"before", Of(1, -1000, 4)},
        {"empty", Of(1, 5, 5)},
        {"reversed", Of(1, 6, 2)},
        {"step_lands_on_last", Of(1, 0, 9, 4)},
        {"step_misses_last", Of(1, 0, 8, 3)},
        {"step_over_all", Of(1, 2, 9, 100)},
        {"extremes", Of(1, INT64_MIN, INT64_MAX, INT64_MAX)},
        {"all", Of(0, 0, 4)},
        {"no_end", {{"axis", int64_t{1}}, {"begin", int64_t{4}}}},
        {"no_end_step", {{"axis", int64_t{1}}, {"begin", int64_t{-7}}, {"step", int64_t{2}}}},
        {"defaults", {}}}) {
    cases.push_back({name, {x}, attributes});
  }
  cases.push_back({"special", {{.dims = {3, 50}, .fill = Fill::kSpecial}}, Of(1, 3, 45)});
  cases.push_back({"zeros", {{.dims = {3, 50}, .fill = Fill::kZeros}}, Of(1, 3, 45)});
  cases.push_back({"rank1", {{.dims = {65}}}, Of(0, 7, 64, 5)});
  cases.push_back({"rank6", {{.dims = {2, 3, 2, 5, 2, 3}}}, Of(3, 1, 5, 2)});
  cases.push_back({"misaligned", {{.dims = {5, 31}, .place = Place::kMisaligned}}, Of(1, 1, 31)});
  cases.push_back({"strided", {{.dims = {5, 31}, .place = Place::kRowStrided}}, Of(0, 1, 5, 2)});
  cases.push_back({"transposed", {{.dims = {5, 31}, .place = Place::kTransposed}}, Of(1, 1, 30)});
  cases.push_back({"no_rows", {{.dims = {0, 7}}}, Of(1, 1, 3)});
  // Several pieces, cut inside a row.
  cases.push_back({"pieces", {{.dims = {3, 20011}}}, Of(1, 11, 20000)});
  cases.push_back({"pieces_short_rows", {{.dims = {9001, 7}}}, Of(1, 1, 6)});
  cases.push_back({"pieces_tiles", {{.dims = {301, 517}, .place = Place::kTransposed}}, Of(0, 1, 300)});
  return cases;
}

std::vector<Refusal> Refusals() {
  const ValueType x{DType::kF32, {4, 9}};
  const ValueType tokens{DType::kF32, {Dim::Named("tokens"), 9}};
  const ValueType more{DType::kF32, {Dim::Named("tokens", 1, 2), 9}};
  return {
      {"scalar", {ValueType{DType::kF32, {}}}, {}, "at least one dimension"},
      {"axis", {x}, Of(2, 0, 1), "axis 2 is outside [-2, 2)"},
      {"step", {x}, Of(1, 0, 1, 0), "step is 0"},
      {"negative_step", {x}, Of(1, 8, 0, -1), "step is -1"},
      {"named_first", {tokens}, Of(0, 0, 1), "[0:1:1] is not the same range at every extent"},
      {"named_last", {tokens}, Of(0, -1, INT64_MAX), "named dimension tokens"},
      {"named_without_first", {tokens}, {{"begin", int64_t{1}}}, "[1::1]"},
      {"named_step", {tokens}, {{"step", int64_t{2}}}, "[0::2]"},
      {"named_too_many", {more}, Of(0, 1, -2), "at most 2 elements"},
      {"named_far", {more}, Of(0, 0, 3), "[0:3:1]"},
  };
}

}  // namespace

const OpChecks& SliceChecks() {
  static const OpChecks checks{
      .spec = &SliceSpec(),
      .attacks =
          "Ranges that start, end or step beyond the dimension, negative bounds, empty and reversed ranges, "
          "a step that just reaches or just misses the last element, every element size on the run, step "
          "and tile paths with odd tails, and pieces that begin inside a row.",
      .reference = SliceReference,
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
