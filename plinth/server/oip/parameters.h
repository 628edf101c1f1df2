// Reads the parameters of an inference request, whatever carried them here.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "plinth/base/status.h"

namespace plinth::server::oip {

struct Parameter {
  std::string name;
  std::variant<bool, int64_t, double, std::string, std::vector<double>> value;
};

struct InferParameters {
  std::optional<int64_t> horizon, context_length;
  std::vector<double> levels;  // normalised
  int priority = 0;            // as Work has it: higher ones first
  double seconds = 0;          // 0: the service's own limit
};

// horizon, quantiles ("0.1,0.9", a number or a list), context_length, priority (1 to 100, 1 first; 0 or none
// is 50), timeout (microseconds, 0 is none), seed (taken and without effect: no model here draws).
// Errors: InvalidArgument with the field, "parameters.horizon".
StatusOr<InferParameters> ReadParameters(std::span<const Parameter> parameters);

}  // namespace plinth::server::oip
