#include <cmath>

#include "plinth/ops/cast/checks.h"
#include "plinth/ops/cast/op.h"

namespace plinth::ops {
namespace {

Attributes To(DType t) { return {{"to", std::string(DTypeName(t))}}; }

// Around the ends of every integer type, halves, the subnormal and overflow borders of the 16-bit formats
// and their ties, and numbers that a detour over float rounds twice.
std::vector<double> AllBorders() {
  std::vector<double> v = {0.0,
                           0.25,
                           0.5,
                           0.99,
                           1,
                           1.5,
                           2.5,
                           65504,
                           65519.99,
                           65520,
                           65536,
                           0x1p-14,
                           0x1p-24,
                           0x1p-25,
                           0x1.8p-25,
                           0x1.004p0,
                           0x1.00c0p0,
                           0x1.01p0,
                           0x1.03p0,
                           0x1p-126,
                           0x1p-133,
                           0x1p-134,
                           0x1.fep127,
                           0x1.ffp127,
                           0x1.fffffep127,
                           1e300,
                           0x1.0020000001p0,
                           0x1.0010000000001p0,
                           0x1.01000000001p0,
                           0x1.00ffffffffp0,
                           INFINITY,
                           NAN};
  for (double end : {127.0, 128.0, 255.0, 256.0, 32767.0, 32768.0, 2147483647.0, 2147483648.0, 0x1p53, 0x1p62,
                     0x1p63, 0x1p64}) {
    for (double d : {-1.0, -0.5, 0.0, 0.5, 1.0}) v.push_back(end + d);
  }
  const size_t positive = v.size();
  for (size_t i = 0; i < positive; ++i) v.push_back(-v[i]);
  return v;
}

// Those that a reference in double can follow: the clamp to 2^63 - 1 is left to cast_test.cc.
std::vector<double> Borders(DType from, DType to) {
  std::vector<double> kept;
  for (double x : AllBorders()) {
    const double y = RoundTo(from, x);
    if (to != DType::kI64 || !(std::abs(y) > 0x1p53)) kept.push_back(x);
  }
  return kept;
}

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (int f = 0; f < kDTypes; ++f) {
    for (int t = 0; t < kDTypes; ++t) {
      const DType from = static_cast<DType>(f), to = static_cast<DType>(t);
      const std::string name = StrCat(DTypeName(from), "_", DTypeName(to));
      // Wide numbers overflow f16.
      const Fill fill = from == DType::kF16 && to == DType::kI64 ? Fill::kOffset : Fill::kWide;
      cases.push_back({name, {{.dtype = from, .dims = {7, 19}, .fill = fill}}, To(to)});
      if (!IsFloat(from)) {
        cases.push_back(
            {StrCat(name, "_small"), {{.dtype = from, .dims = {67}, .fill = Fill::kNormal}}, To(to)});
        continue;
      }
      const std::vector<double> borders = Borders(from, to);
      cases.push_back({StrCat(name, "_borders"),
                       {{.dtype = from,
                         .dims = {static_cast<int64_t>(borders.size())},
                         .fill = Fill::kValues,
                         .values = borders}},
                       To(to)});
    }
  }
  for (int64_t n : OddSizes()) cases.push_back({StrCat("n", n), {{.dims = {3, n}}}, To(DType::kBF16)});
  cases.push_back({"subnormal", {{.dims = {40}, .fill = Fill::kSubnormal}}, To(DType::kF64)});
  cases.push_back({"scalar", {{.dims = {}}}, To(DType::kF16)});
  for (auto [name, place] : {std::pair{"strided", Place::kRowStrided},
                             {"misaligned", Place::kMisaligned},
                             {"transposed", Place::kTransposed}}) {
    cases.push_back({name, {{.dims = {5, 6, 17}, .place = place}}, To(DType::kF16)});
    cases.push_back({StrCat(name, "_same"), {{.dims = {5, 6, 17}, .place = place}}, To(DType::kF32)});
  }
  cases.push_back({"many", {{.dims = {50001}}}, To(DType::kF16), Tier::kCi});
  return cases;
}

std::vector<Refusal> Refusals() {
  const ValueType x{DType::kF32, {3}};
  return {{"unknown", {x}, {{"to", std::string("f8")}}, "\"f8\" is no element type"},
          {"missing", {x}, {}, "\"\" is no element type"}};
}

}  // namespace

const OpChecks& CastChecks() {
  static const OpChecks checks{
      .spec = &CastSpec(),
      .attacks =
          "Every pair of types; numbers at the ends of the integer ranges, halves, ties and borders of the "
          "16-bit formats, doubles that a detour over float would round twice, NaN, infinities, signed "
          "zeros, "
          "subnormal numbers, all layouts.",
      .reference = CastReference,
      .cases = Cases,
      .refusals = Refusals,
      .tolerance = {.kind = ToleranceClass::kExact,
                    .limit = nullptr,
                    .derivation = "one rounding, as IEEE 754 defines it; integers as documented",
                    .signed_zero = true},
  };
  return checks;
}

}  // namespace plinth::ops
