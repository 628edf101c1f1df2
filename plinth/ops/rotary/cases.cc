#include <cmath>
#include <string>

#include "plinth/ops/rotary/checks.h"
#include "plinth/ops/rotary/op.h"

namespace plinth::ops {
namespace {

Attributes Config(int64_t heads, int64_t head_dim, int64_t rotary_dims = 0, const char* style = "halves",
                  double theta = 10000) {
  return {{"heads", heads},
          {"head_dim", head_dim},
          {"rotary_dims", rotary_dims},
          {"style", std::string(style)},
          {"theta", theta}};
}

InputCase Positions(int64_t rows, int64_t limit) {
  return {.dtype = DType::kI32, .dims = {rows}, .fill = Fill::kIndex, .limit = limit};
}

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (const char* style : {"halves", "interleaved"}) {
    for (int64_t d : {2, 4, 6, 14, 16, 30, 32, 34, 64, 66, 128}) {
      cases.push_back({StrCat(style, d), {{.dims = {5, 3 * d}}, Positions(5, 64)}, Config(3, d, 0, style)});
    }
    // Half of each head passes through, and so do the value columns behind the last head.
    cases.push_back(
        {StrCat(style, "_partial"), {{.dims = {6, 100}}, Positions(6, 999)}, Config(3, 32, 16, style)});
    // Positions at which a float angle has lost its meaning.
    cases.push_back(
        {StrCat(style, "_far"), {{.dims = {40, 64}}, Positions(40, 1000000)}, Config(2, 32, 0, style)});
    cases.push_back({StrCat(style, "_special"),
                     {{.dims = {9, 24}, .fill = Fill::kSpecial}, Positions(9, 50)},
                     Config(2, 8, 6, style)});
    cases.push_back({StrCat(style, "_misaligned"),
                     {{.dims = {4, 40}, .place = Place::kMisaligned}, Positions(4, 50)},
                     Config(1, 36, 0, style)});
    cases.push_back({StrCat(style, "_strided"),
                     {{.dims = {4, 40}, .place = Place::kRowStrided}, Positions(4, 50)},
                     Config(2, 18, 0, style)});
  }
  cases.push_back({"model", {{.dims = {304, 384}}, Positions(304, 38)}, Config(8, 32, 0, "halves", 1000)});
  cases.push_back(
      {"negative",
       {{.dims = {4, 32}},
        {.dtype = DType::kI32, .dims = {4}, .fill = Fill::kValues, .values = {-1, -7, 0, -2147483647}}},
       Config(1, 32)});
  cases.push_back(
      {"fractional",
       {{.dims = {4, 32}},
        {.dtype = DType::kF32, .dims = {4}, .fill = Fill::kValues, .values = {0.5, -2.25, 1e5, 0x1p31}}},
       Config(1, 32)});
  cases.push_back({"huge", {{.dims = {3, 16}, .fill = Fill::kHuge}, Positions(3, 9)}, Config(1, 16)});
  cases.push_back(
      {"subnormal", {{.dims = {3, 16}, .fill = Fill::kSubnormal}, Positions(3, 9)}, Config(1, 16)});
  cases.push_back(
      {"position_nan",
       {{.dims = {2, 16}}, {.dtype = DType::kF32, .dims = {2}, .fill = Fill::kValues, .values = {1, NAN}}},
       Config(1, 16),
       Tier::kSmoke,
       "not a finite number of at most 2^31"});
  cases.push_back({"theta1", {{.dims = {3, 16}}, Positions(3, 9)}, Config(1, 16, 0, "halves", 1)});
  cases.push_back({"no_rows", {{.dims = {0, 16}}, Positions(0, 9)}, Config(1, 16)});
  cases.push_back({"many_rows", {{.dims = {5000, 48}}, Positions(5000, 10000)}, Config(2, 16), Tier::kCi});
  return cases;
}

std::vector<Refusal> Refusals() {
  const ValueType x{DType::kF32, {3, 32}};
  const ValueType p{DType::kI32, {3}};
  return {
      {"rank", {ValueType{DType::kF32, {3, 2, 16}}, p}, Config(1, 16), "constant number of columns"},
      {"type", {ValueType{DType::kF16, {3, 32}}, p}, Config(1, 16), "f32 [rows"},
      {"positions_type", {x, ValueType{DType::kI64, {3}}}, Config(1, 16), "i32 or f32"},
      {"positions_size", {x, ValueType{DType::kI32, {4}}}, Config(1, 16), "one per row of x, [3]"},
      {"positions_missing", {x, std::nullopt}, Config(1, 16), "\"positions\" is missing"},
      {"head_dim", {x, p}, Config(1, 33), "head_dim is 33; 2 to 32"},
      {"no_head_dim", {x, p}, {}, "head_dim is 0"},
      {"heads", {x, p}, Config(3, 16), "heads is 3; x has 32 columns, room for 1 to 2"},
      {"heads_overflow", {x, p}, Config(int64_t{1} << 62, 16), "room for 1 to 2"},
      {"odd", {x, p}, Config(1, 16, 7), "rotary_dims is 7"},
      {"rotary_dims", {x, p}, Config(1, 16, 18), "from 2 to head_dim 16"},
      {"style", {x, p}, Config(1, 16, 0, "neox"), "style is \"neox\""},
      {"theta", {x, p}, Config(1, 16, 0, "halves", 0), "theta is 0"},
  };
}

// Sine and cosine are within 2 units in the last place, 4u, of those of the angle; product and sum add u
// each to every term. The angle itself is a double product: relative 2^-51 with the table's own error.
// Columns that pass through keep their bits: their limit is zero.
std::vector<double> Limit(const OpCall& call, const RefIo& io, size_t) {
  const RefTensor& x = io.in[0];
  const int64_t heads = call.attributes.Int("heads", 1), head_dim = call.attributes.Int("head_dim");
  const int64_t asked = call.attributes.Int("rotary_dims", 0);
  const int64_t dims = asked == 0 ? head_dim : asked;
  const bool interleaved = call.attributes.Text("style", "halves") == "interleaved";
  std::vector<double> limit(x.data.size());
  for (int64_t row = 0; row < x.dims[0]; ++row) {
    const double angle_error = std::abs(io.in[1].data[row]) * 0x1p-51;
    for (int64_t h = 0; h < heads; ++h) {
      for (int64_t i = 0; i < dims; ++i) {
        const int64_t base = row * x.dims[1] + h * head_dim;
        const int64_t other = interleaved ? (i ^ 1) : (i + dims / 2) % dims;
        const double size = std::abs(x.data[base + i]) + std::abs(x.data[base + other]);
        limit[base + i] = size * (6.1 * kUnitRoundoff + angle_error) + 3 * 0x1p-149;
      }
    }
  }
  return limit;
}

}  // namespace

const OpChecks& RotaryChecks() {
  static const OpChecks checks{
      .spec = &RotarySpec(),
      .attacks =
          "Both pairings at head sizes around the vector widths; partly turned heads and columns behind the "
          "last head, which must keep their bits; positions up to 10^6 and beyond, where a float angle is "
          "meaningless; negative and fractional positions; NaN and infinity in one half of a pair.",
      .reference = RotaryReference,
      .cases = Cases,
      .refusals = Refusals,
      .tolerance = {.kind = ToleranceClass::kTranscendental,
                    .limit = Limit,
                    .derivation =
                        "(|a| + |b|) (6u + |position| 2^-51) + 3 subnormal steps; 0 where passed through"},
      .row_inputs = 0b11,
  };
  return checks;
}

}  // namespace plinth::ops
