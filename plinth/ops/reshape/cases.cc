#include "plinth/ops/reshape/checks.h"
#include "plinth/ops/reshape/op.h"

namespace plinth::ops {
namespace {

using Ints = std::vector<int64_t>;

Attributes To(Ints dims) { return {{"dims", std::move(dims)}}; }

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (int64_t n : OddSizes()) {
    cases.push_back({StrCat("n", n), {{.dims = {6, n}}}, To({2, -1, 3})});
  }
  // -1 is ambiguous beside a zero; so is the case of no elements.
  cases[0].attributes = To({-1, 0});
  for (int t = 0; t < kDTypes; ++t) {
    const DType dtype = static_cast<DType>(t);
    const Fill fill = dtype == DType::kBool ? Fill::kMask : Fill::kTies;
    const std::string name(DTypeName(dtype));
    cases.push_back({StrCat(name, "_transposed"),
                     {{.dtype = dtype, .dims = {66, 35}, .fill = fill, .place = Place::kTransposed}},
                     To({11, 6, 35})});
    cases.push_back({StrCat(name, "_strided"),
                     {{.dtype = dtype, .dims = {6, 35}, .fill = fill, .place = Place::kRowStrided}},
                     To({210})});
  }
  const Fill count = Fill::kAscending;
  for (auto place : {Place::kDense, Place::kMisaligned, Place::kRowStrided, Place::kTransposed}) {
    const std::string name = StrCat("place", static_cast<int>(place), "_");
    cases.push_back({name + "split", {{.dims = {4, 12}, .fill = count, .place = place}}, To({2, 2, 3, 4})});
    cases.push_back({name + "merge", {{.dims = {4, 3, 5}, .fill = count, .place = place}}, To({60})});
    cases.push_back(
        {name + "merge_first", {{.dims = {4, 3, 5}, .fill = count, .place = place}}, To({12, 5})});
    cases.push_back({name + "merge_last", {{.dims = {4, 3, 5}, .fill = count, .place = place}}, To({4, -1})});
    cases.push_back(
        {name + "shift", {{.dims = {4, 6, 10}, .fill = count, .place = place}}, To({8, 3, 5, 2})});
    cases.push_back({name + "ones", {{.dims = {4, 1, 6}, .fill = count, .place = place}}, To({1, 4, 6, 1})});
    cases.push_back({name + "same", {{.dims = {4, 3, 5}, .fill = count, .place = place}}, To({0, 0, 0})});
    cases.push_back(
        {name + "keep", {{.dims = {4, 3, 10}, .fill = count, .place = place}}, To({0, 0, 2, -1})});
    cases.push_back({name + "rank6",
                     {{.dims = {2, 3, 2, 2, 3, 2}, .fill = count, .place = place}},
                     To({3, 2, 2, 3, 2, 2})});
  }
  cases.push_back({"scalar_to_ones", {{.dims = {}}}, To({1, 1})});
  cases.push_back({"ones_to_scalar", {{.dims = {1, 1, 1}}}, To({})});
  cases.push_back({"scalar_to_open", {{.dims = {}}}, To({-1})});
  cases.push_back({"zero_elements", {{.dims = {0, 5}}}, To({0, 5, 1})});
  cases.push_back({"zero_elements_open", {{.dims = {3, 0, 5}}}, To({-1, 15})});
  cases.push_back(
      {"special", {{.dims = {7, 9}, .fill = Fill::kSpecial, .place = Place::kTransposed}}, To({63})});
  cases.push_back({"pieces", {{.dims = {9001, 7}, .place = Place::kRowStrided}}, To({7, 9001})});
  cases.push_back({"pieces_tiles", {{.dims = {301, 517}, .place = Place::kTransposed}}, To({-1})});
  return cases;
}

std::vector<Refusal> Refusals() {
  const ValueType x{DType::kF32, {4, 9}};
  const ValueType tokens{DType::kF32, {Dim::Named("tokens"), 9}};
  const ValueType odd{DType::kF32, {Dim::Named("tokens", 2, 1), 6}};
  const ValueType two{DType::kF32, {Dim::Named("batch"), Dim::Named("tokens"), 9}};
  const int64_t big = int64_t{1} << 40;
  return {
      {"no_dims", {x}, {}, "\"dims\" is missing"},
      {"wrong_kind", {x}, {{"dims", int64_t{36}}}, "wrong kind"},
      {"count", {x}, To({5, 7}), "x [4, 9] does not have as many elements as [5, 7]"},
      {"uneven", {x}, To({5, -1}), "36, is not a multiple of 5"},
      {"two_open", {x}, To({-1, -1}), "more than one -1"},
      {"negative", {x}, To({-2, 18}), "dims[0] is -2"},
      {"keep_beyond", {x}, To({4, 9, 0}), "dims[2] is 0"},
      {"rank7", {x}, To({4, 9, 1, 1, 1, 1, 1}), "7 entries; at most 6"},
      {"named_without_open", {tokens}, To({4, 9}), "use -1 or 0"},
      {"named_uneven", {tokens}, To({-1, 2}), "(tokens) * 9, is not a multiple of 2"},
      {"named_offset_uneven", {odd}, To({-1, 4}), "(2*tokens+1) * 6, is not a multiple of 4"},
      {"two_named", {two}, To({-1, 9}), "batch and tokens cannot be merged"},
      {"too_many", {ValueType{DType::kF32, {big, big}}}, To({-1}), "63 bits"},
  };
}

}  // namespace

const OpChecks& ReshapeChecks() {
  static const OpChecks checks{
      .spec = &ReshapeSpec(),
      .attacks =
          "Dimensions that split, merge and shift against each other over dense, misaligned, row-strided and "
          "transposed memory (a view where the strides allow it, a copy where not; wrong either way when a "
          "group is cut in the wrong place), ones, scalars and no elements at all.",
      .reference = ReshapeReference,
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
