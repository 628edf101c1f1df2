#include <algorithm>

#include "plinth/ops/permute/checks.h"
#include "plinth/ops/permute/op.h"

namespace plinth::ops {
namespace {

using Ints = std::vector<int64_t>;

Attributes Axes(Ints axes) { return {{"axes", std::move(axes)}}; }

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (int64_t n : OddSizes()) {
    for (int64_t m : {int64_t{7}, int64_t{8}, int64_t{33}}) {
      cases.push_back({StrCat("transpose_", m, "x", n), {{.dims = {m, n}}}, Axes({1, 0})});
    }
  }
  for (int t = 0; t < kDTypes; ++t) {
    const DType dtype = static_cast<DType>(t);
    const Fill fill = dtype == DType::kBool ? Fill::kMask : Fill::kTies;
    // Tiles of 16 with a tail on both sides, and beyond one tile of 64 by 256.
    cases.push_back({StrCat(DTypeName(dtype), "_transpose"),
                     {{.dtype = dtype, .dims = {277, 85}, .fill = fill}},
                     Axes({1, 0})});
    cases.push_back({StrCat(DTypeName(dtype), "_small"),
                     {{.dtype = dtype, .dims = {3, 5, 4}, .fill = fill}},
                     Axes({2, 0, 1})});
  }
  Ints order = {0, 1, 2, 3};
  do {  // heads and tokens in every order
    cases.push_back({StrCat("order_", Join(order, "")), {{.dims = {3, 19, 2, 17}}}, Axes(order)});
  } while (std::next_permutation(order.begin(), order.end()));
  for (auto place : {Place::kMisaligned, Place::kRowStrided, Place::kTransposed}) {
    for (const Ints& axes : {Ints{1, 0, 2}, Ints{2, 1, 0}, Ints{0, 2, 1}, Ints{0, 1, 2}}) {
      cases.push_back({StrCat("place", static_cast<int>(place), "_", Join(axes, "")),
                       {{.dims = {21, 3, 35}, .fill = Fill::kAscending, .place = place}},
                       Axes(axes)});
    }
  }
  cases.push_back({"scalar", {{.dims = {}}}, Axes({})});
  cases.push_back({"rank1", {{.dims = {65}}}, Axes({0})});
  cases.push_back({"rank6", {{.dims = {2, 3, 2, 9, 2, 9}}}, Axes({5, 3, 1, 0, 4, 2})});
  cases.push_back({"negative", {{.dims = {4, 5, 6}}}, Axes({-1, 0, -2})});
  cases.push_back({"ones", {{.dims = {1, 33, 1, 17}}}, Axes({3, 2, 1, 0})});
  cases.push_back({"special", {{.dims = {33, 35}, .fill = Fill::kSpecial}}, Axes({1, 0})});
  cases.push_back({"zeros", {{.dims = {33, 35}, .fill = Fill::kZeros}}, Axes({1, 0})});
  cases.push_back({"no_elements", {{.dims = {0, 5, 9}}}, Axes({2, 1, 0})});
  cases.push_back({"pieces", {{.dims = {301, 517}}}, Axes({1, 0})});
  cases.push_back({"pieces_heads", {{.dims = {3, 211, 8, 64}}}, Axes({0, 2, 1, 3})});
  cases.push_back({"large", {{.dims = {4864, 512}}}, Axes({1, 0}), Tier::kNightly});
  return cases;
}

std::vector<Refusal> Refusals() {
  const ValueType x{DType::kF32, {4, 9}};
  return {
      {"no_axes", {x}, {}, "axes is []; x has 2 dimensions"},
      {"few", {x}, Axes({0}), "axes is [0]; x has 2 dimensions"},
      {"twice", {x}, Axes({1, 1}), "axis 1 is there twice"},
      {"twice_negative", {x}, Axes({1, -1}), "axis 1 is there twice"},
      {"outside", {x}, Axes({0, 2}), "axis 2 is outside [-2, 2)"},
  };
}

}  // namespace

const OpChecks& PermuteChecks() {
  static const OpChecks checks{
      .spec = &PermuteSpec(),
      .attacks =
          "All orders of four dimensions, sizes around the transposing blocks and tiles with tails on either "
          "side, every element size, ones, no elements, and inputs that are strided or transposed already.",
      .reference = PermuteReference,
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
