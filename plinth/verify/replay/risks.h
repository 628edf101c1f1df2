// Lists which operators of a captured model are sensitive to rounding, with the condition that was measured.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plinth/base/context.h"
#include "plinth/formats/capture.h"

namespace plinth::verify::replay {

enum class RiskKind : uint8_t {
  kNormalisation,
  kExponential,
  kLongReduction,
  kOrder,      // indices follow from values that may nearly be equal
  kQuantised,  // rounding to few steps
  kCustom,     // no reference knows it
};
// "normalisation", "exponential", "long reduction", "order-dependent", "quantised", "custom".
std::string_view RiskKindName(RiskKind kind);

struct Risk {
  std::string name, op;
  int64_t step = 0;
  RiskKind kind = RiskKind::kCustom;
  std::string dtype;  // of output 0
  // What was measured over the capture, and its name: "|mean|/std", "spread", "sum of sizes / result",
  // "gap in units in the last place", "share at the ends". 0 where nothing could be measured.
  double condition = 0;
  std::string condition_name;
  int64_t depth = 0;  // length of the sum or row; 0: none
  // Root mean square error to expect of right arithmetic, in unit roundoffs of the output relative to its
  // root mean square; of an order the inverse of the smallest gap. nullopt: unknown.
  std::optional<double> estimate;
  std::string sentence;
};

// By falling estimate; what no reference knows comes first, what was not recorded in full last. At most about
// `flops` operations are spent on each operator (a choice of its rows beyond that).
// Errors: as UsesOf.
StatusOr<std::vector<Risk>> RisksOf(const Context& context, const formats::Capture& capture,
                                    double flops = 2e8);

// One JSON object without a line end, and one line for people.
std::string ToJson(const Risk& risk);
std::string ToText(const Risk& risk);

}  // namespace plinth::verify::replay
