#include <cmath>

#include "plinth/ops/binary/checks.h"
#include "plinth/ops/binary/op.h"

namespace plinth::ops {
namespace {

using Ints = std::vector<int64_t>;

Attributes Function(const char* name) { return {{"function", std::string(name)}}; }

constexpr const char* kAll[] = {"add", "sub", "mul", "div", "min", "max", "pow"};
constexpr const char* kInteger[] = {"add", "sub", "mul", "min", "max"};

// Pairs of values that pow, min, max and the sign rules treat specially, all against all.
void AddCorners(std::vector<Case>& cases) {
  const double inf = INFINITY, most = 0x1.fffffep127, least = 0x1p-149;
  const std::vector<double> corners = {0.0,   -0.0,  1.0,    -1.0,     2.0,        -2.0,  3.0,  -3.0,
                                       0.5,   -0.5,  2.5,    -2.5,     inf,        -inf,  NAN,  most,
                                       -most, least, -least, 0x1p-126, 1e30,       24.0,  0.99, 1.01,
                                       33.0,  -7.0,  127.0,  16777215, 0x1.8p+24f, -149.0};
  const auto n = static_cast<int64_t>(corners.size());
  for (const char* f : kAll) {
    cases.push_back({StrCat(f, "_corners"),
                     {{.dims = {n, 1}, .fill = Fill::kValues, .values = corners},
                      {.dims = {n}, .fill = Fill::kValues, .values = corners}},
                     Function(f)});
  }
}

void AddBroadcasts(std::vector<Case>& cases) {
  const std::pair<Ints, Ints> shapes[] = {{{5, 33}, {33}},
                                          {{33}, {5, 33}},
                                          {{5, 33}, {5, 1}},
                                          {{5, 1}, {5, 33}},
                                          {{5, 33}, {}},
                                          {{}, {5, 33}},
                                          {{5, 1}, {1, 33}},
                                          {{33, 1}, {33}},
                                          {{4, 5, 9}, {4, 1, 9}},
                                          {{4, 1, 9}, {1, 5, 1}},
                                          {{4, 5, 9}, {5, 1}},
                                          {{3, 1, 5, 1}, {7, 1, 6}},
                                          {{1, 1}, {1}},
                                          {{}, {}},
                                          {{7, 1, 1}, {7}},
                                          {{0, 5}, {5}},
                                          {{0, 5}, {1, 1}},
                                          {{1, 5}, {0, 1}},
                                          {{2, 3, 2, 3, 2, 17}, {3, 1, 3, 1, 17}}};
  for (const auto& [a, b] : shapes) {
    // Not commutative, and no two positions alike, so that a wrong axis shows.
    cases.push_back({StrCat("broadcast_", Join(a, "x"), "_", Join(b, "x")),
                     {{.dims = a, .fill = Fill::kAscending}, {.dims = b}},
                     Function("sub")});
  }
}

void AddPlaces(std::vector<Case>& cases) {
  const Place places[] = {Place::kDense, Place::kMisaligned, Place::kRowStrided, Place::kTransposed};
  for (Place a : places) {
    for (Place b : places) {
      cases.push_back({StrCat("place", static_cast<int>(a), static_cast<int>(b)),
                       {{.dims = {19, 37}, .place = a}, {.dims = {19, 37}, .place = b}},
                       Function("sub")});
    }
    cases.push_back({StrCat("place", static_cast<int>(a), "_row"),
                     {{.dims = {4, 19, 300}, .place = a}, {.dims = {300}, .place = Place::kMisaligned}},
                     Function("div")});
    cases.push_back({StrCat("place", static_cast<int>(a), "_column"),
                     {{.dims = {19, 300}, .place = a}, {.dims = {19, 1}}},
                     Function("div")});
  }
}

void AddTypes(std::vector<Case>& cases) {
  for (auto [type, extreme] : {std::pair{DType::kI32, 0x1p31}, {DType::kI64, 0x1p63}}) {
    const double far = extreme / 2;  // exact in double, and so are its sums modulo 2^bits
    for (const char* f : kInteger) {
      const std::string name = StrCat(DTypeName(type), "_", f);
      cases.push_back({name,
                       {{.dtype = type, .dims = {3, 67}, .fill = Fill::kTies},
                        {.dtype = type, .dims = {67}, .fill = Fill::kAscending}},
                       Function(f)});
      cases.push_back(
          {name + "_wraps",
           {{.dtype = type, .dims = {4}, .fill = Fill::kValues, .values = {far, -extreme, far, -extreme}},
            {.dtype = type, .dims = {4}, .fill = Fill::kValues, .values = {far, -far, 4, -1}}},
           Function(f)});
    }
  }
  for (const char* f : {"add", "sub", "mul", "div", "min", "max"}) {
    for (auto [name, fill] : {std::pair{"", Fill::kNormal}, {"_special", Fill::kSpecial}}) {
      cases.push_back({StrCat("f64_", f, name),
                       {{.dtype = DType::kF64, .dims = {5, 35}, .fill = fill},
                        {.dtype = DType::kF64, .dims = {35}, .fill = fill}},
                       Function(f)});
    }
  }
}

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (int64_t n : OddSizes()) {
    cases.push_back({StrCat("n", n), {{.dims = {3, n}}, {.dims = {3, n}}}, Function("sub")});
    cases.push_back({StrCat("row_n", n), {{.dims = {3, n}}, {.dims = {n}}}, Function("sub")});
  }
  for (const char* f : kAll) {
    for (auto [name, a, b] : {std::tuple{"normal", Fill::kNormal, Fill::kNormal},
                              {"huge", Fill::kHuge, Fill::kHuge},
                              {"tiny", Fill::kTiny, Fill::kTiny},
                              {"subnormal", Fill::kSubnormal, Fill::kPositive},
                              {"wide", Fill::kWide, Fill::kWide},
                              {"positive", Fill::kPositive, Fill::kNormal},
                              {"powers", Fill::kWide, Fill::kTies},
                              {"offset", Fill::kOffset, Fill::kOffset},
                              {"special", Fill::kSpecial, Fill::kSpecial},
                              {"special_row", Fill::kSpecial, Fill::kTies},
                              {"zeros", Fill::kZeros, Fill::kTies}}) {
      cases.push_back(
          {StrCat(f, "_", name), {{.dims = {9, 77}, .fill = a}, {.dims = {9, 77}, .fill = b}}, Function(f)});
    }
    cases.push_back(
        {StrCat(f, "_scalar"), {{.dims = {9, 77}, .fill = Fill::kSpecial}, {.dims = {}}}, Function(f)});
    cases.push_back(
        {StrCat("scalar_", f), {{.dims = {}}, {.dims = {9, 77}, .fill = Fill::kSpecial}}, Function(f)});
  }
  AddCorners(cases);
  AddBroadcasts(cases);
  AddPlaces(cases);
  AddTypes(cases);
  // Several pieces, cut inside a row, with a row that is broadcast over them.
  cases.push_back({"pieces", {{.dims = {13, 5003}}, {.dims = {5003}}}, Function("sub")});
  cases.push_back({"pieces_column", {{.dims = {20011, 3}}, {.dims = {20011, 1}}}, Function("sub")});
  // Every magnitude against many exponents: where a power's logarithm or scaling is off it shows here.
  cases.push_back({"pow_sweep",
                   {{.dims = {300, 1}, .fill = Fill::kPositive}, {.dims = {701}, .fill = Fill::kOffset}},
                   Function("pow"),
                   Tier::kCi});
  cases.push_back({"pow_sweep_wide",
                   {{.dims = {500, 1}, .fill = Fill::kWide}, {.dims = {401}}},
                   Function("pow"),
                   Tier::kCi});
  return cases;
}

std::vector<Refusal> Refusals() {
  const Dim tokens = Dim::Named("tokens");
  const ValueType x{DType::kF32, {4, 9}};
  const ValueType i{DType::kI32, {4, 9}};
  return {
      {"no_function", {x, x}, {}, "function \"\" does not exist for f32"},
      {"unknown", {x, x}, Function("modulo"), "there are add, sub, mul, min, max, div, pow"},
      {"integer_div",
       {i, i},
       Function("div"),
       "\"div\" does not exist for i32; there are add, sub, mul, min, max"},
      {"f64_pow",
       {ValueType{DType::kF64, {4}}, ValueType{DType::kF64, {4}}},
       Function("pow"),
       "\"pow\" does not exist for f64"},
      {"f16",
       {ValueType{DType::kF16, {4}}, ValueType{DType::kF16, {4}}},
       Function("add"),
       "a is f16; f32, f64"},
      {"mixed", {x, i}, Function("add"), "a is f32 and b is i32"},
      {"shape", {x, ValueType{DType::kF32, {4}}}, Function("add"), "9 against 4"},
      {"named_constant",
       {ValueType{DType::kF32, {tokens, 9}}, ValueType{DType::kF32, {4, 9}}},
       Function("add"),
       "tokens against 4"},
      {"two_names",
       {ValueType{DType::kF32, {tokens}}, ValueType{DType::kF32, {Dim::Named("tokens", 1, 1)}}},
       Function("add"),
       "tokens against tokens+1"},
      {"missing", {x, std::nullopt}, Function("add"), "\"b\" is missing"},
      {"three", {x, x, x}, Function("add"), "takes 2 inputs, got 3"},
  };
}

std::vector<double> Limit(const OpCall& call, const RefIo& io, size_t) {
  return UlpLimit(io.out[0], call.attributes.Text("function") == "pow" ? 1 : 0);
}

}  // namespace

const OpChecks& BinaryChecks() {
  static const OpChecks checks{
      .spec = &BinarySpec(),
      .attacks =
          "Every pair of special values (zeros of both signs, ones, infinities, NaN, the largest and the "
          "smallest numbers, odd and even integers) through every function, broadcasting along each axis and "
          "along several at once with a function that does not commute, all placements against each other, "
          "wrap-around of integers, overflow and gradual underflow, and pieces that begin inside a row.",
      .reference = BinaryReference,
      .cases = Cases,
      .refusals = Refusals,
      .tolerance = {.kind = ToleranceClass::kArithmetic,
                    .limit = Limit,
                    .derivation =
                        "0: the basic operations round correctly by IEEE 754; pow 1 ULP: half of one from "
                        "the only rounding to float, 2^-34 relative from the computation in double",
                    .signed_zero = true},
  };
  return checks;
}

}  // namespace plinth::ops
