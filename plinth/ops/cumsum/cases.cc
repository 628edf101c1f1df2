#include <algorithm>
#include <cmath>

#include "plinth/ops/cumsum/checks.h"
#include "plinth/ops/cumsum/op.h"

namespace plinth::ops {
namespace {

Attributes Of(int64_t axis, bool reverse = false, bool exclusive = false) {
  return {{"axis", axis}, {"reverse", reverse}, {"exclusive", exclusive}};
}

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (int64_t n : OddSizes()) {
    cases.push_back({StrCat("last_n", n), {{.dims = {3, n}}}, Of(-1)});
    cases.push_back({StrCat("first_n", n), {{.dims = {n, 3}}}, Of(0)});
    cases.push_back({StrCat("columns_n", n), {{.dims = {3, n}}}, Of(0)});
  }
  for (int mode = 0; mode < 4; ++mode) {
    const bool reverse = (mode & 1) != 0, exclusive = (mode & 2) != 0;
    const std::string name = StrCat(reverse ? "reverse" : "forward", exclusive ? "_exclusive" : "");
    for (int64_t axis = 0; axis < 3; ++axis) {
      cases.push_back({StrCat(name, "_axis", axis), {{.dims = {5, 7, 131}}}, Of(axis, reverse, exclusive)});
      cases.push_back({StrCat(name, "_transposed_axis", axis),
                       {{.dims = {5, 7, 131}, .place = Place::kTransposed}},
                       Of(axis, reverse, exclusive)});
    }
    for (DType dtype : {DType::kI32, DType::kI64}) {
      cases.push_back({StrCat(name, "_", DTypeName(dtype)),
                       {{.dtype = dtype, .dims = {4, 33}, .fill = Fill::kTies}},
                       Of(1, reverse, exclusive)});
    }
    for (Fill fill :
         {Fill::kSpecial, Fill::kHuge, Fill::kWide, Fill::kOffset, Fill::kSubnormal, Fill::kZeros}) {
      cases.push_back({StrCat(name, "_fill", static_cast<int>(fill)),
                       {{.dims = {9, 33}, .fill = fill}},
                       Of(mode % 2, reverse, exclusive)});
    }
  }
  // The float sum stands still from 2^24 on; the small ones must not be lost.
  cases.push_back(
      {"absorbed", {{.dims = {4}, .fill = Fill::kValues, .values = {16777216, 1, 1, -16777216}}}, Of(0)});
  const double most = 0x1.fffffep127;
  cases.push_back({"overflows_and_returns",
                   {{.dims = {4}, .fill = Fill::kValues, .values = {most, most, -most, 1}}},
                   Of(0)});
  cases.push_back({"wraps_i32",
                   {{.dtype = DType::kI32, .dims = {3}, .fill = Fill::kValues, .values = {2147483647, 1, 5}}},
                   Of(0)});
  cases.push_back(
      {"wraps_i64",
       {{.dtype = DType::kI64, .dims = {3}, .fill = Fill::kValues, .values = {0x1p62, 0x1p62, 0x1p62}}},
       Of(0)});
  cases.push_back({"defaults", {{.dims = {6, 5}}}, {}});
  cases.push_back({"negative_axis", {{.dims = {4, 5, 6}}}, Of(-2)});
  cases.push_back({"rank6", {{.dims = {2, 3, 2, 4, 2, 3}}}, Of(3)});
  cases.push_back({"misaligned", {{.dims = {5, 31}, .place = Place::kMisaligned}}, Of(1)});
  cases.push_back({"strided", {{.dims = {5, 31}, .place = Place::kRowStrided}}, Of(0)});
  cases.push_back({"no_rows", {{.dims = {0, 7}}}, Of(1)});
  cases.push_back({"no_columns", {{.dims = {7, 0}}}, Of(0)});
  cases.push_back({"pieces", {{.dims = {3001, 11}}}, Of(1)});
  cases.push_back({"pieces_columns", {{.dims = {2, 201, 700}}}, Of(1, true)});
  cases.push_back({"long", {{.dims = {30011}, .fill = Fill::kOffset}}, Of(0), Tier::kCi});
  return cases;
}

std::vector<Refusal> Refusals() {
  const ValueType x{DType::kF32, {4, 9}};
  return {
      {"f64", {ValueType{DType::kF64, {4}}}, {}, "x is f64; f32, i32 and i64"},
      {"scalar", {ValueType{DType::kF32, {}}}, {}, "at least one dimension"},
      {"axis", {x}, Of(2), "axis 2 is outside [-2, 2)"},
      {"axis_below_range", {x}, Of(-3), "axis -3 is outside"},
  };
}

// Half a ULP from the rounding to float; before it, each of the n sums in double is off by at most 2^-53
// of the running sum, which never exceeds the sum of the magnitudes.
std::vector<double> Limit(const OpCall& call, const RefIo& io, size_t) {
  const RefTensor& x = io.in[0];
  if (call.in(0).dtype != DType::kF32) return UlpLimit(io.out[0], 0);
  const int64_t rank = static_cast<int64_t>(x.dims.size());
  const int64_t axis = (call.attributes.Int("axis") + rank) % rank;
  int64_t inner = 1;
  for (int64_t d = axis + 1; d < rank; ++d) inner *= x.dims[d];
  const int64_t n = x.dims[axis];
  std::vector<double> limit = UlpLimit(io.out[0], 0.5);
  std::vector<double> magnitudes(x.data.size(), 0);  // of the scan that starts there
  for (int64_t i = 0; i < x.size(); ++i) magnitudes[i - i / inner % n * inner] += std::abs(x.data[i]);
  for (int64_t i = 0; i < x.size(); ++i) {
    const double magnitude = magnitudes[i - i / inner % n * inner];
    if (std::isfinite(magnitude)) limit[i] += static_cast<double>(n) * 0x1p-53 * magnitude;
  }
  return limit;
}

}  // namespace

const OpChecks& CumsumChecks() {
  static const OpChecks checks{
      .spec = &CumsumSpec(),
      .attacks =
          "Every axis in both directions, with and without the element itself, over dense and transposed "
          "memory; sums that a float accumulator would lose, that overflow on the way, or that wrap around; "
          "NaN and infinities that must stay from their place on and not before; columns around the block "
          "width.",
      .reference = CumsumReference,
      .cases = Cases,
      .refusals = Refusals,
      .tolerance = {.kind = ToleranceClass::kReduction,
                    .limit = Limit,
                    .derivation = "f32: half a ULP + n * 2^-53 * sum|x|; integers exact",
                    .signed_zero = true},
  };
  return checks;
}

}  // namespace plinth::ops
