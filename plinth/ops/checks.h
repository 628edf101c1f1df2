// Defines what an operator tells the verification about itself: an independent reference in double,
// cases that attack it, inputs that must be refused, and a derived tolerance. No server links this.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "plinth/ops/op_spec.h"

namespace plinth::ops {

// A dense tensor in double; integers and booleans as their values (cases keep within 2^53).
struct RefTensor {
  std::vector<int64_t> dims;
  std::vector<double> data;
  int64_t size() const { return static_cast<int64_t>(data.size()); }
  bool present() const { return !dims.empty() || !data.empty(); }  // a scalar holds one element
};

// Computes outputs from inputs, plain loops in double, sharing nothing with the kernels. `in` has one
// entry per input of the call; an absent one is empty (RefTensor::present() tells). `out` comes with its dims
// set and data zero.
struct RefIo {
  std::vector<RefTensor> in;
  std::vector<RefTensor> out;
};
using Reference = void (*)(const OpCall& call, RefIo& io);

// How a case fills an input. All fills are functions of the case's seed. For integer types kNormal,
// kUniform and kPositive are multiplied by 50 first; every fill is rounded and clamped to the type.
enum class Fill : uint8_t {
  kNormal,     // standard normal
  kUniform,    // [-1, 1)
  kPositive,   // [0.1, 2)
  kHuge,       // normal * 1e30
  kTiny,       // normal * 1e-30
  kSubnormal,  // normal * 1e-40
  kWide,       // sign * 10^uniform(-6, 6)
  kOffset,     // 1000 + normal: cancellation
  kSpecial,    // normal with NaN, +inf, -inf, +0, -0 sprinkled in
  kZeros,      // +0 and -0 alternating
  kConstant,   // 1.25 throughout
  kAscending,  // 0, 1, 2, ...
  kTies,       // integers in [-3, 3]: many equal values
  kIndex,      // integers in [0, InputCase::limit)
  kMask,       // 0 or 1
  kMaskNone,   // all 0
  kMaskAll,    // all 1
  kOffsets,    // ragged offsets: first 0, last InputCase::limit, non-decreasing, empty ones included
  kValues,     // InputCase::values, literally
};

// How an input lies in memory. The harness also runs every small case in all four layouts; a layout that
// the port does not take falls back to kDense.
enum class Place : uint8_t {
  kDense,       // 64-byte aligned, dense
  kMisaligned,  // dense, one element off alignment
  kRowStrided,  // gaps between rows (where the port takes kRows or kAny)
  kTransposed,  // strides of the first and last dimension swapped (only where the port takes kAny)
};

struct InputCase {
  DType dtype = DType::kF32;
  std::vector<int64_t> dims;
  Fill fill = Fill::kNormal;
  Place place = Place::kDense;
  int64_t limit = 0;           // for kIndex and kOffsets
  std::vector<double> values;  // for kValues
  bool absent = false;         // an optional input left out
  bool constant = false;       // known at plan time (a weight)
};

enum class Tier : uint8_t { kSmoke, kCi, kNightly };

struct Case {
  std::string name;  // unique within the operator; the reproduce line filters by it
  std::vector<InputCase> inputs;
  Attributes attributes;
  Tier tier = Tier::kSmoke;
  // Data that the kernel must report as a fault, with a message that contains this text; the outputs
  // are then not compared.
  std::string fault = "";
};

// An input that must be refused at plan time with a message that contains `says`.
struct Refusal {
  std::string name;
  std::vector<std::optional<ValueType>> inputs;
  Attributes attributes;
  std::string says;
};

// Tolerance classes of the acceptance rules (docs/numerics.md).
enum class ToleranceClass : uint8_t {
  kExact,           // A: the reference rounded once to the output type, zeros' signs included
  kOrder,           // A': as kExact, indices too; operators say how they break ties
  kArithmetic,      // B: ULP
  kTranscendental,  // C: ULP
  kReduction,       // D
  kSoftmax,         // E
  kNorm,            // F
  kMatmul,          // G
};

struct Tolerance {
  ToleranceClass kind = ToleranceClass::kExact;
  // The largest |out - reference| allowed for each element of output `port`, from the inputs as the
  // reference saw them. Together with `derivation` this is the whole rule. An element passes when it
  // is within `limit`; non-finite values, zeros' signs where `signed_zero`, and shapes match exactly.
  // For kExact and kOrder it is not called. Returning an empty vector asks for an exact match of that
  // port (an index beside a sum).
  std::function<std::vector<double>(const OpCall& call, const RefIo& io, size_t port)> limit;
  const char* derivation = "";
  bool signed_zero = false;
};

// Everything the verification knows about one operator.
struct OpChecks {
  const OpSpec* spec = nullptr;
  const char* attacks = "";  // one paragraph: what the data attack
  Reference reference = nullptr;
  std::vector<Case> (*cases)() = nullptr;
  std::vector<Refusal> (*refusals)() = nullptr;
  Tolerance tolerance;
  // Inputs (bit i) whose first dimension runs over the rows, where the spec says rows_independent; the
  // others are shared by all rows. 0: every input that has the rank and the rows of output 0.
  uint32_t row_inputs = 0;
  // Cases whose speed is measured; nullptr: the three most expensive ones of `cases`.
  std::vector<Case> (*speed)() = nullptr;
};

// All operators' checks, in the order of the registry.
const std::vector<const OpChecks*>& AllChecks();
const OpChecks* FindChecks(std::string_view op);

// Sizes that have broken kernels before: 0, 1, 2, and around 16, 32, 64.
const std::vector<int64_t>& OddSizes();

// Limits used by several operators.
// `ulps` units in the last place of each element of `ref`, in the output type `dtype`.
std::vector<double> UlpLimit(const RefTensor& ref, double ulps, DType dtype = DType::kF32);

// One unit in the last place of `dtype` at |value|: the distance between neighbours in its binade, never
// less than the smallest subnormal; 1 for integers and booleans, 0 where value is not finite.
double Ulp(DType dtype, double value);
// `value` rounded once to `dtype`: to nearest, ties to even. Floating types overflow to infinity;
// integers are clamped to their range and NaN becomes 0; booleans are value != 0.
double RoundTo(DType dtype, double value);

inline constexpr double kUnitRoundoff = 0x1p-24;  // f32
inline constexpr double kSmallestNormal = 0x1p-126;

}  // namespace plinth::ops
