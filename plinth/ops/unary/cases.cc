#include <cmath>

#include "plinth/ops/unary/checks.h"
#include "plinth/ops/unary/op.h"

namespace plinth::ops {
namespace {

// Largest error in ULP. 0: one correctly rounded operation, or none. Others: what the sweeps of
// vector_math_test.cc measure for the method, rounded up to a whole ULP; rsqrt rounds twice, each time
// by at most 2^-24 relative, which is up to one ULP just above a power of two.
struct FunctionLimit {
  const char* name;
  double ulps;
};
constexpr FunctionLimit kLimits[] = {
    {"abs", 0},    {"asinh", 3},      {"ceil", 0}, {"cos", 2},       {"erf", 2},      {"exp", 1},
    {"expm1", 2},  {"floor", 0},      {"gelu", 5}, {"gelu_tanh", 4}, {"log", 2},      {"log1p", 2},
    {"neg", 0},    {"reciprocal", 0}, {"relu", 0}, {"round", 0},     {"rsqrt", 2},    {"sigmoid", 3},
    {"sign", 0},   {"silu", 3},       {"sin", 2},  {"sinh", 3},      {"softplus", 3}, {"sqrt", 0},
    {"square", 0}, {"tanh", 3}};

double UlpsOf(const std::string& name) {
  for (const FunctionLimit& f : kLimits) {
    if (name == f.name) return f.ulps;
  }
  return 0;
}

Attributes Function(const char* name) { return {{"function", std::string(name)}}; }

// Where methods change, results overflow or vanish, and rounding is a tie; both signs of each.
std::vector<double> Corners() {
  const double points[] = {0,
                           0x1p-149,
                           0x1p-126,
                           0x1.fffffep-127,
                           1e-20,
                           1e-8,
                           0x1p-12,
                           0.25,
                           0.49999997,
                           0.5,
                           0.50000006,
                           0.70710677,
                           0.707107,
                           0.92,
                           0.92000002,
                           1,
                           0.99999994,
                           1.0000001,
                           1.4142135,
                           1.4142137,
                           1.5,
                           2,
                           2.5,
                           3.5,
                           4,
                           4.0000005,
                           5.5,
                           8.9999,
                           9.0111,
                           10,
                           13,
                           14.5,
                           15,
                           16.5,
                           17.4,
                           18,
                           20,
                           64,
                           87,
                           87.33655,
                           88,
                           88.02969,
                           88.72283,
                           88.72284,
                           89,
                           89.41598,
                           89.41599,
                           90,
                           100,
                           103.27893,
                           103.97208,
                           103.97209,
                           104,
                           120,
                           121,
                           150,
                           3.1415927,
                           1.5707964,
                           6.2831855,
                           100.53096,
                           8388607.5,
                           8388608,
                           8388609,
                           16777216,
                           1048576,
                           1048577,
                           2097153,
                           33554432,
                           67108864,
                           67108872,
                           4294967296.0,
                           4294967808.0,
                           1e10,
                           1e15,
                           1.8446744e19,
                           1.8446743e19,
                           1e22,
                           1e38,
                           16367173 * 0x1p+72,
                           0x1.fffffep127,
                           INFINITY};
  std::vector<double> both;
  for (double p : points) both.insert(both.end(), {p, -p});
  both.push_back(NAN);
  for (double& v : both) v = static_cast<double>(static_cast<float>(v));
  return both;
}

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (int64_t n : OddSizes()) {
    cases.push_back({StrCat("exp_n", n), {{.dims = {3, n}}}, Function("exp")});
    cases.push_back({StrCat("sin_n", n), {{.dims = {3, n}, .fill = Fill::kWide}}, Function("sin")});
  }
  const std::vector<double> corners = Corners();
  const auto count = static_cast<int64_t>(corners.size());
  for (const FunctionLimit& f : kLimits) {
    cases.push_back({StrCat(f.name, "_corners"),
                     {{.dims = {count}, .fill = Fill::kValues, .values = corners}},
                     Function(f.name)});
    for (auto [name, fill] : {std::pair{"normal", Fill::kNormal},
                              {"positive", Fill::kPositive},
                              {"huge", Fill::kHuge},
                              {"tiny", Fill::kTiny},
                              {"subnormal", Fill::kSubnormal},
                              {"wide", Fill::kWide},
                              {"offset", Fill::kOffset},
                              {"ascending", Fill::kAscending},
                              {"special", Fill::kSpecial}}) {
      cases.push_back({StrCat(f.name, "_", name), {{.dims = {9, 133}, .fill = fill}}, Function(f.name)});
    }
    cases.push_back(
        {StrCat(f.name, "_sweep"), {{.dims = {40009}, .fill = Fill::kWide}}, Function(f.name), Tier::kCi});
  }
  for (auto place : {Place::kMisaligned, Place::kRowStrided, Place::kTransposed}) {
    const std::string name = StrCat("place", static_cast<int>(place));
    cases.push_back({StrCat("tanh_", name), {{.dims = {5, 301}, .place = place}}, Function("tanh")});
    cases.push_back(
        {StrCat("cos_", name), {{.dims = {3, 5, 31}, .fill = Fill::kHuge, .place = place}}, Function("cos")});
  }
  cases.push_back({"scalar", {{.dims = {}}}, Function("neg")});
  cases.push_back({"rank6", {{.dims = {2, 3, 2, 3, 2, 3}, .place = Place::kRowStrided}}, Function("neg")});
  cases.push_back({"pieces", {{.dims = {7, 5003}, .place = Place::kRowStrided}}, Function("square")});
  return cases;
}

std::vector<Refusal> Refusals() {
  const ValueType x{DType::kF32, {4}};
  return {
      {"f64", {ValueType{DType::kF64, {4}}}, Function("exp"), "x is f64; f32 is supported"},
      {"no_function", {x}, {}, "function \"\" is unknown; there are abs, asinh"},
      {"unknown", {x}, Function("Exp"), "function \"Exp\" is unknown"},
      {"wrong_kind", {x}, {{"function", int64_t{3}}}, "wrong kind"},
      {"missing", {std::nullopt}, Function("exp"), "\"x\" is missing"},
  };
}

std::vector<double> Limit(const OpCall& call, const RefIo& io, size_t) {
  return UlpLimit(io.out[0], UlpsOf(call.attributes.Text("function")));
}

}  // namespace

const OpChecks& UnaryChecks() {
  static const OpChecks checks{
      .spec = &UnarySpec(),
      .attacks =
          "For every function: the places where its method changes, where it overflows, vanishes or ties, "
          "both signs of zero, subnormal numbers, infinities and NaN, ten orders of magnitude, and angles up "
          "to the largest float (and the float nearest to a multiple of pi/2); lengths around the vector "
          "widths and strided memory.",
      .reference = UnaryReference,
      .cases = Cases,
      .refusals = Refusals,
      .tolerance = {.kind = ToleranceClass::kTranscendental,
                    .limit = Limit,
                    .derivation =
                        "0 where one operation rounds correctly; exp 1, expm1 log log1p rsqrt sin cos erf 2, "
                        "asinh sigmoid silu sinh softplus tanh 3, gelu_tanh 4, gelu 5 ULP: the methods' "
                        "errors as swept by vector_math_test.cc",
                    .signed_zero = true},
  };
  return checks;
}

}  // namespace plinth::ops
