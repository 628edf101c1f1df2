// Verifies operators against their references: what `plinth verify ops` does.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "plinth/base/context.h"
#include "plinth/ops/checks.h"
#include "plinth/verify/rows.h"

namespace plinth::verify {

enum class OpMode : uint8_t {
  kCorrect,  // every kernel, every case, every layout against the reference; refusals and data faults
  kBitwise,  // same bits when repeated, in any order of pieces, on 1, 2, 3 threads, misaligned, in place,
             // and for rows alone or in another order
  kSpeed,    // median times of representative cases, after their correctness
};

struct OpOptions {
  std::string op;         // "" all operators
  std::string case_name;  // "" all cases up to `tier`; a named case runs whatever its tier
  std::string kernel;     // "" every kernel that takes the case
  std::string device = "cpu";
  std::optional<DType> dtype;  // only cases with an input or output of this type
  ops::Tier tier = ops::Tier::kSmoke;
  OpMode mode = OpMode::kCorrect;
  uint64_t seed = 0;                  // other data for the same cases
  std::string program = "plinth";     // how reproduce lines call it
  std::function<bool()> interrupted;  // asked between cases; empty: never
};

// Runs one mode and reports each checked output. The context's isa decides the kernels' level, its
// threads serve the speed mode.
// Errors: InvalidArgument for an unknown operator, case or kernel, and where no case fits; Unavailable for
// another device than the CPU; Cancelled when interrupted.
StatusOr<Summary> VerifyOps(const Context& context, const OpOptions& options, const RowSink& sink);

// What is known about one operator's checks; the `list` mode.
struct OpListing {
  std::string op, summary;
  std::vector<std::string> kernels;
  std::vector<std::string> dtypes;  // of the cases' inputs
  int64_t cases[3] = {};            // per tier
  int64_t refusals = 0;
  std::string tolerance;  // the class of docs/numerics.md: "E softmax"
  std::string derivation, attacks;
};
// Errors: InvalidArgument for an unknown operator.
StatusOr<std::vector<OpListing>> ListOps(const std::string& op);
std::string ToJson(const OpListing& listing);
std::string ToText(const OpListing& listing);

// "list,correct,bitwise,gradient,speed" -> the modes in the order given; `list` is set when it is among
// them. Errors: InvalidArgument for an unknown mode and for gradient, which no operator has.
StatusOr<std::vector<OpMode>> ParseModes(std::string_view text, bool* list);
StatusOr<ops::Tier> ParseTier(std::string_view text);
std::string_view ModeName(OpMode mode);

}  // namespace plinth::verify
