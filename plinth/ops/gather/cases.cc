#include "plinth/ops/gather/checks.h"
#include "plinth/ops/gather/op.h"

namespace plinth::ops {
namespace {

InputCase Index(std::vector<int64_t> dims, int64_t limit, DType dtype = DType::kI32) {
  return {.dtype = dtype, .dims = std::move(dims), .fill = Fill::kIndex, .limit = limit};
}

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (int64_t n : OddSizes()) {
    cases.push_back({StrCat("width", n), {{.dims = {11, n}}, Index({7}, 11)}, {}});
    cases.push_back({StrCat("picks", n), {{.dims = {11, 5}}, Index({n}, 11)}, {}});
  }
  for (int t = 0; t < kDTypes; ++t) {
    const DType dtype = static_cast<DType>(t);
    cases.push_back({StrCat("type_", DTypeName(dtype)),
                     {{.dtype = dtype, .dims = {9, 7}, .fill = Fill::kMask}, Index({5}, 9, DType::kI64)},
                     {}});
  }
  // Bits are copied: NaN stays NaN, zeros keep their sign.
  cases.push_back({"special", {{.dims = {9, 33}, .fill = Fill::kSpecial}, Index({20}, 9)}, {}});
  cases.push_back({"zeros", {{.dims = {9, 33}, .fill = Fill::kZeros}, Index({20}, 9)}, {}});
  cases.push_back({"ends",
                   {{.dims = {5, 3}, .fill = Fill::kAscending},
                    {.dtype = DType::kI64, .dims = {4}, .fill = Fill::kValues, .values = {4, 0, 4, 0}}},
                   {}});
  cases.push_back({"rank1", {{.dims = {9}}, Index({20}, 9)}, {}});
  cases.push_back({"rank4", {{.dims = {9, 2, 3, 5}}, Index({4, 3}, 9)}, {}});
  cases.push_back({"scalar_index", {{.dims = {9, 4}}, Index({}, 9)}, {}});
  cases.push_back({"index_rank3", {{.dims = {9, 4}}, Index({2, 0, 3}, 9)}, {}});
  cases.push_back({"no_picks_no_rows", {{.dims = {0, 4}}, Index({0}, 1)}, {}});
  cases.push_back({"strided", {{.dims = {9, 31}, .place = Place::kRowStrided}, Index({20}, 9)}, {}});
  cases.push_back({"strided_rank3", {{.dims = {6, 4, 7}, .place = Place::kRowStrided}, Index({9}, 6)}, {}});
  cases.push_back({"misaligned", {{.dims = {9, 31}, .place = Place::kMisaligned}, Index({20}, 9)}, {}});
  for (auto [name, index] : {std::pair{"behind", 9.0}, {"negative", -1.0}}) {
    cases.push_back(
        {name,
         {{.dims = {9, 4}}, {.dtype = DType::kI64, .dims = {2}, .fill = Fill::kValues, .values = {3, index}}},
         {},
         Tier::kSmoke,
         StrCat("outside the rows of data (value ", index, " at position 1)")});
  }
  cases.push_back({"many", {{.dims = {1000, 64}}, Index({5000}, 1000)}, {}, Tier::kCi});
  return cases;
}

std::vector<Refusal> Refusals() {
  const ValueType data{DType::kF32, {4, 2}};
  return {
      {"scalar", {ValueType{DType::kF32, {}}, ValueType{DType::kI32, {3}}}, {}, "data is a scalar"},
      {"index_type", {data, ValueType{DType::kF32, {3}}}, {}, "index is f32; i32 or i64"},
      {"rank",
       {ValueType{DType::kF32, {2, 2, 2, 2}}, ValueType{DType::kI32, {1, 1, 1, 1}}},
       {},
       "rank 7; at most 6"},
      {"missing", {data, std::nullopt}, {}, "\"index\" is missing"},
  };
}

}  // namespace

const OpChecks& GatherChecks() {
  static const OpChecks checks{
      .spec = &GatherSpec(),
      .attacks =
          "Row widths and counts around copy sizes, every element type, the first and the last row, rows "
          "with "
          "gaps between them, NaN payloads and signed zeros, nothing to pick from.",
      .reference = GatherReference,
      .cases = Cases,
      .refusals = Refusals,
      .tolerance = {.kind = ToleranceClass::kExact,
                    .limit = nullptr,
                    .derivation = "bits are copied",
                    .signed_zero = true},
  };
  return checks;
}

}  // namespace plinth::ops
